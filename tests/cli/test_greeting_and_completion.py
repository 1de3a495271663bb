"""`appell` alone greets, its help is grouped, and the Tab key knows the names."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from appell.cli.export import LANGUAGES
from appell.cli.main import COMMANDS, FIRST, app
from appell.cli.options import PANELS
from appell.describe.load import load, zoo_names
from appell.formulate.formulations import FORMULATIONS
from appell_lab.papers import SECTIONS
from terminals import all_commands


def run(*arguments: str, columns: int = 80):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})


def test_alone_it_greets_with_three_commands_and_where_there_is_more():
    result = run()
    assert result.exit_code == 0
    assert result.stderr == ""
    assert len(FIRST) == 3
    assert all(command in result.stdout for command in FIRST)
    assert all(word in result.stdout for word in ("appell --help", "appell robots", "docs", "help(ap)"))
    assert all(len(line.rstrip()) <= 80 for line in result.stdout.splitlines())


def test_what_it_greets_with_can_be_pasted():
    for line in FIRST:
        program, command, *_ = shlex.split(line)
        assert program == "appell"
        assert command in COMMANDS


def test_the_help_is_grouped_by_what_people_want():
    shown = run("--help").stdout
    places = [shown.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    assert {command.rich_help_panel for command in all_commands().values()} == set(PANELS)


def completed(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    line = " ".join(("appell", *words))
    asked = {"_APPELL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    result = CliRunner().invoke(app, [], env=asked, prog_name="appell")
    assert result.exit_code == 0, result.output
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("inf",), ["info"]),
        (("info", "pa"), ["panda"]),
        (("info", "puma", "--base", ""), ["fixed", "floating", "planar", "spherical"]),
        (("export", "puma", "inverse_d"), ["inverse_dynamics"]),
        (("export", "puma", "pos"), ["pose"]),
        (("export", "puma", "gravity", "--to", ""), list(LANGUAGES)),
        (("count", "puma", "--formulation", "new"), ["newton-euler"]),
        (("count", "puma", "--inertia", "walk"), ["walker-orin"]),
        (("reproduce", "dyn"), ["dynamics"]),
        (("bench", "--part", "ba"), ["batch"]),
        (("fuzz", "--only", "files,rob"), ["files,robots"]),
        (("simulate", "panda", "--method", "RK"), ["RK45", "RK23"]),
        (("identify", "a.csv", "--method", "rob"), ["robust"]),
        (("control", "run", "puma", "--law", "pid"), ["pid"]),
        (("workspace", "five"), ["five-bar"]),
    ],
)
def test_names_complete(words, offered):
    assert completed(*words) == offered


def test_all_of_the_zoo_all_sections_and_all_frames_are_offered():
    assert completed("info", "") == list(zoo_names())
    assert completed("reproduce", "") == list(SECTIONS)
    assert set(FORMULATIONS) < set(completed("count", "puma", "--formulation", ""))
    assert completed("export", "panda", "pose", "--frame", "") == list(load("panda").frame_names)
    assert completed("export", "no-robot", "pose", "--frame", "") == []


def test_the_tab_key_does_not_wait_for_packages_that_only_some_commands_need():
    slow = ("scipy.interpolate", "scipy.optimize", "scipy.integrate", "matplotlib", "pandas")
    asked = f"import sys, appell.cli.main; print(*set(sys.modules) & set({slow!r}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_completion_can_be_installed(tmp_path):
    install = [sys.executable, "-m", "appell", "--install-completion", "bash"]
    given = os.environ | {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(install, capture_output=True, text=True, check=False, env=given)
    assert done.returncode == 0, done.stderr
    assert "bash completion installed" in done.stdout
    assert list(tmp_path.rglob("*.sh"))
