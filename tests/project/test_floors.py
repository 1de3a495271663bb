"""The lowest versions of the dependencies: declared once, installed and tested by CI."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
floors = runpy.run_path(str(ROOT / ".ci" / "floors.py"))["floors"]


EXTRAS = PROJECT["optional-dependencies"]
EXCHANGE = {"exchange", "torch", *EXTRAS["exchange"][0].removeprefix("appell[").removesuffix("]").split(",")}


def test_every_dependency_of_users_and_of_the_tests_has_a_floor():
    """Linters, documentation tools and packages of the extra `exchange` are excluded."""
    requirements = [
        *PROJECT["dependencies"],
        *(r for e, rs in EXTRAS.items() if e not in {"lint", "docs", *EXCHANGE} for r in rs),
    ]
    named = {r.partition(">=")[0] for r in requirements if not r.startswith("appell[")}
    assert set(floors(PROJECT)) == named


@pytest.mark.parametrize("extra", sorted(EXCHANGE - {"exchange"}))
def test_every_package_of_the_exchange_extras_has_a_floor(extra):
    assert floors(PROJECT, extra)


@pytest.mark.parametrize("requirement", ["numpy", "numpy==2.0", "numpy>1", "numpy>=2.0,<3"])
def test_a_requirement_without_a_plain_floor_is_an_error(requirement):
    with pytest.raises(SystemExit, match="declares no floor in 'numpy"):
        floors({"dependencies": [requirement], "optional-dependencies": {"test": []}})


def test_versions_may_be_excluded():
    assert floors({"dependencies": ["mujoco>=3.3,!=4.0.0"], "optional-dependencies": {"test": []}}) == {"mujoco": "3.3"}


@pytest.mark.parametrize("extra", ["mjcf", "peers"])
def test_extras_exclude_the_version_of_mujoco_with_wrong_accelerations(extra):
    (requirement,) = [r for r in EXTRAS[extra] if r.startswith("mujoco")]
    assert requirement.endswith(",!=4.0.0")


def test_two_floors_of_one_package_are_an_error():
    with pytest.raises(SystemExit, match="two floors of pyarrow"):
        floors({"dependencies": ["pyarrow>=16"], "optional-dependencies": {"test": ["pyarrow>=17"]}})


def test_ci_runs_the_tests_on_the_floors_and_these_tests_exist():
    assert "make floors" in ROOT.joinpath(".ci", "run").read_text(encoding="utf-8").splitlines()
    makefile = ROOT.joinpath("Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (listed,) = [line.partition(":=")[2].split() for line in makefile.splitlines() if line.startswith("FLOORS :=")]
    assert len(listed) > 5
    assert not [path for path in listed if not ROOT.joinpath(path).exists()]


def test_the_oldest_supported_python_is_the_first_of_the_classifiers():
    tested = [
        c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith("Programming Language :: Python :: 3.")
    ]
    assert PROJECT["requires-python"] == f">={tested[0]}"
