"""`appell` without arguments, the panels of the help, and shell completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from appell.cli.export import LANGUAGES
from appell.cli.main import COMMANDS, FIRST_COMMANDS, app
from appell.cli.options import PANELS
from appell.describe.load import load, zoo_names
from appell.formulate.formulations import FORMULATIONS
from appell_lab.papers import SECTIONS
from terminals import all_commands


def run(*arguments: str, columns: int = 80):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})


def test_without_arguments_it_prints_an_introduction_with_three_commands():
    result = run()
    assert result.exit_code == 0
    assert result.stderr == ""
    assert len(FIRST_COMMANDS) == 3
    assert all(command in result.stdout for command in FIRST_COMMANDS)
    assert all(word in result.stdout for word in ("appell --help", "appell robots", "docs", "help(ap)"))
    assert all(len(line.rstrip()) <= 80 for line in result.stdout.splitlines())


def test_the_commands_of_the_introduction_exist():
    for line in FIRST_COMMANDS:
        program, command, *_ = shlex.split(line)
        assert program == "appell"
        assert command in COMMANDS


def test_the_help_is_grouped_in_panels():
    shown = run("--help", columns=100).stdout
    positions = [shown.index(f"─ {panel} ─") for panel in PANELS]
    assert positions == sorted(positions)
    assert {command.rich_help_panel for command in all_commands().values()} == set(PANELS)


def completed(*words: str) -> list[str]:
    """Return the completions of the last word in bash."""
    line = " ".join(("appell", *words))
    request = {"_APPELL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    result = CliRunner().invoke(app, [], env=request, prog_name="appell")
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
def test_names_are_completed(words, offered):
    assert completed(*words) == offered


def test_all_robots_sections_and_frames_are_offered():
    assert completed("info", "") == list(zoo_names())
    assert completed("reproduce", "") == list(SECTIONS)
    assert set(FORMULATIONS) < set(completed("count", "puma", "--formulation", ""))
    assert completed("export", "panda", "pose", "--frame", "") == list(load("panda").frame_names)
    assert completed("export", "no-robot", "pose", "--frame", "") == []


def test_completion_does_not_import_slow_packages():
    slow = ("scipy.interpolate", "scipy.optimize", "scipy.integrate", "matplotlib", "pandas")
    code = f"import sys, appell.cli.main; print(*set(sys.modules) & set({slow!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_completion_can_be_installed(tmp_path):
    install = [sys.executable, "-m", "appell", "--install-completion", "bash"]
    variables = os.environ | {
        "HOME": str(tmp_path),
        "USERPROFILE": str(tmp_path),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    done = subprocess.run(install, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 0, done.stderr
    assert "bash completion installed" in done.stdout
    assert list(tmp_path.rglob("*.sh"))
