"""Every required package has a line that explains its purpose."""

import re
import tomllib

from packaging.requirements import Requirement

from tests.support.projects import PROJECT


def asked():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {Requirement(line).name for line in lines} - {project["name"]}


def test_required_packages_are_documented():
    rows = re.findall(
        r"^\| ([^|]+) \|", (PROJECT / "docs/dependencies.md").read_text(), re.MULTILINE
    )
    named = [name for row in rows for name in row.split(", ") if name not in ("package", "---")]

    assert sorted(asked()) == sorted(named)
