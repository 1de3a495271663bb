"""Print the lowest versions that pyproject.toml declares for the packages of the tests, as constraints for pip.

    python .ci/floors.py > floors.txt && pip install -c floors.txt --editable '.[test]'

pyproject.toml is the only list of them. A requirement without a lowest version is an error; versions may be excluded.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

FLOOR = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)>=(?P<version>[0-9.]+)(,!=[0-9.]+)*")
EXTRAS = re.compile(r"appell\[(?P<extras>[a-z,]+)\]")


def requirements(project: dict, extra: str) -> list[str]:
    """Return the dependencies and those of an extra, including the extras it consists of."""
    pending = [*project["dependencies"], f"appell[{extra}]"]
    for requirement in pending:
        if extras := EXTRAS.fullmatch(requirement):
            for name in extras["extras"].split(","):
                pending += project["optional-dependencies"][name]
    return [requirement for requirement in pending if not EXTRAS.fullmatch(requirement)]


def floors(project: dict, extra: str = "test") -> dict[str, str]:
    """Return the lowest versions of the dependencies and of an extra, including the extras it consists of."""
    versions: dict[str, str] = {}
    for requirement in requirements(project, extra):
        if (lowest := FLOOR.fullmatch(requirement)) is None:
            raise SystemExit(f"pyproject.toml declares no floor in '{requirement}'; expected name>=version.")
        elif versions.setdefault(lowest["name"], lowest["version"]) != lowest["version"]:
            raise SystemExit(f"pyproject.toml declares two floors of {lowest['name']}.")
    return versions


if __name__ == "__main__":
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in floors(tomllib.loads(text)["project"]).items())
