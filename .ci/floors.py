"""Prints the lowest versions that pyproject.toml declares for what the tests need, as constraints for pip.

    python .ci/floors.py > floors.txt && pip install -c floors.txt --editable '.[test]'

There is no second list of them that could say something else. A requirement without a floor is an error.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

FLOOR = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)>=(?P<version>[0-9.]+)")
OWN = re.compile(r"appell\[(?P<extras>[a-z,]+)\]")


def floors(project: dict, extra: str = "test") -> dict[str, str]:
    """Package -> its lowest version, of the dependencies and of an extra with all extras it is made of."""
    found: dict[str, str] = {}
    requirements = [*project["dependencies"], f"appell[{extra}]"]
    for requirement in requirements:
        if own := OWN.fullmatch(requirement):
            for name in own["extras"].split(","):
                requirements += project["optional-dependencies"][name]
        elif (lowest := FLOOR.fullmatch(requirement)) is None:
            raise SystemExit(f"pyproject.toml declares no floor in '{requirement}'; expected name>=version.")
        elif found.setdefault(lowest["name"], lowest["version"]) != lowest["version"]:
            raise SystemExit(f"pyproject.toml declares two floors of {lowest['name']}.")
    return found


if __name__ == "__main__":
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in floors(tomllib.loads(text)["project"]).items())
