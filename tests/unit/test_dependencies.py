"""Every package that the project asks for has a line that says what it is for."""

import re
import tomllib

from packaging.requirements import Requirement

from tests.support.projects import PROJECT


def asked():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {Requirement(line).name for line in lines} - {project["name"]}


def test_each_package_is_named_with_its_purpose_and_no_other():
    rows = re.findall(
        r"^\| ([^|]+) \|", (PROJECT / "docs/dependencies.md").read_text(), re.MULTILINE
    )
    named = [name for row in rows for name in row.split(", ") if name not in ("package", "---")]

    assert sorted(asked()) == sorted(named)
