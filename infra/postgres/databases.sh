#!/bin/sh
# Runs once, on an empty volume. Creates a database for Prefect and one for MLflow, each with a role that
# can connect only to its own database.
set -eu
: "${PREFECT_DATABASE_PASSWORD:?}" "${MLFLOW_DATABASE_PASSWORD:?}"

psql --set ON_ERROR_STOP=1 --username postgres <<'SQL'
\getenv prefect_password PREFECT_DATABASE_PASSWORD
\getenv mlflow_password MLFLOW_DATABASE_PASSWORD
CREATE ROLE prefect LOGIN PASSWORD :'prefect_password';
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow_password';
CREATE DATABASE prefect OWNER prefect;
CREATE DATABASE mlflow OWNER mlflow;
REVOKE CONNECT ON DATABASE prefect, mlflow, postgres FROM PUBLIC;
SQL
