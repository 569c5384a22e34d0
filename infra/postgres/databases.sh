#!/bin/sh
# Runs once, when the volume is empty: a database each for Prefect and MLflow, owned by a role of its
# own that may enter no other.
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
