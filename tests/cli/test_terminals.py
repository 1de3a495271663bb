"""Colours, dumb terminals, closed pipes, narrow terminals, and characters that a terminal cannot show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from rich.table import Table
from typer.testing import CliRunner

from appell.cli.main import app
from appell.cli.output import Screen
from appell.describe.load import load, zoo_names
from terminals import COMMAND, environment, on_terminal, piped

COLOR = re.compile(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|9[0-7])[0-9;]*m")
ESCAPE = "\x1b["
NEEDS_TERMINAL = pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
REQUIRED_OUTPUT = {  # at every width
    ("info", "panda"): ("-3.072", "-0.0698", "joint7", "2.897", "revolute", "link4", "tool on link7", "forward"),
    ("count", "planar-2r"): ("balafoutis-patel", "gibbs-appell-vector", "lagrange", "100"),
    ("formulations",): ("orthogonal-complement", "articulated-body", "balafoutis-patel"),
    ("trajectory", "ramp", "panda", "--to", "0.5,-0.5,0,-2,0,1.5,0.8"): ("-0.7854", "joint7", "hardest", "unit/s²"),
    ("simulate", "tree10", "--wall", "circle:2.5", "--restitution", "1", "--friction", "0", "--until", "0.4"): (
        "0.385191984",
        "5.26443",
        "O1, O5",
        "impact",
    ),
    ("rollout", "planar-2r", "--members", "3", "--steps", "10"): ("q_shoulder", "energy", "median", "rad/s"),
}
# In an ASCII locale Python cannot read the .pth file of an editable installation below a folder with other letters.
ASCII_TERMINAL = {"PYTHONIOENCODING": "ascii"} | ({"PYTHONUTF8": "0", "LC_ALL": "C"} if sys.prefix.isascii() else {})


def words(text: str) -> str:
    return " ".join(text.split())


@NEEDS_TERMINAL
@pytest.mark.parametrize("command", [("simulate", "pendulum", "--until", "0.1"), ("robots", "--help")])
def test_a_terminal_gets_colours_unless_no_color_is_set(command):
    assert COLOR.search(on_terminal(*command))
    assert not COLOR.search(on_terminal(*command, NO_COLOR="1"))


@NEEDS_TERMINAL
@pytest.mark.parametrize("command", [("simulate", "pendulum", "--until", "0.1"), ("info", "pendulum")])
def test_a_dumb_terminal_gets_plain_text(command):
    assert ESCAPE not in on_terminal(*command, TERM="dumb")


def test_a_pipe_gets_plain_text_and_stderr_is_empty():
    done = piped("info", "panda", "--no-counts")
    assert done.returncode == 0
    assert done.stderr == b""
    assert ESCAPE.encode() not in done.stdout


@pytest.mark.parametrize("command", [("info", "stewart-gough", "--json"), ("formulations",)])
def test_a_closed_pipe_is_not_an_error(command):
    process = subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    process.stdout.close()  # before the first line, so that the first write fails
    assert process.stderr.read() == b""
    process.wait()


@pytest.mark.parametrize("columns", [40, 60, 250])
@pytest.mark.parametrize("command", REQUIRED_OUTPUT, ids=lambda command: command[0])
def test_output_is_complete_at_every_width(command, columns):
    result = CliRunner().invoke(app, list(command), env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    for part in REQUIRED_OUTPUT[command]:
        assert part in words(result.stdout), part


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_list_of_robots_is_complete_at_every_width(columns):
    shown = CliRunner().invoke(app, ["robots"], env={"COLUMNS": str(columns)}).stdout
    for name in zoo_names():
        assert name in shown
        for word in load(name).reference.split():
            assert word in shown, word  # words are not broken


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize(
    "command", ["", "simulate", "identify", "trajectory line", "control run", "workspace", "excite", "bench"]
)
def test_help_is_complete_at_every_width(command, columns):
    result = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0
    assert "…" not in result.stdout
    assert "[bold]" not in result.stdout


def test_a_table_that_does_not_fit_becomes_a_list_with_all_its_cells():
    made = Table("name", "a very long heading", "number", title="Things", caption="a remark", show_footer=True)
    made.columns[0].footer = "together"
    made.add_row("[bold]one[/]", "unbreakableunbreakable", "1")
    made.add_row("two", "", "22")
    console = Screen(width=24, file=None, record=True, force_terminal=False)
    with console.capture() as shown:
        console.print(made)
    lines = [line.strip() for line in shown.get().splitlines() if line.strip()]
    assert lines == [
        "Things", "one", "a very long heading", "unbreakableunbreakable", "number  1", "two", "number  22", "together",
        "a remark",
    ]  # fmt: skip


def test_a_table_wraps_between_words_if_that_fits():
    made = Table("name", "what", box=None)
    sentence = "some words that can stand below each other"
    made.add_row("unbreakable-name", sentence)
    console = Screen(width=30, force_terminal=False)
    with console.capture() as shown:
        console.print(made)
    assert "unbreakable-name" in shown.get()
    assert all(word in shown.get().split() for word in sentence.split())


def test_a_long_title_of_a_section_is_not_truncated():
    console = Screen(width=20, force_terminal=False)
    with console.capture() as shown:
        console.rule("[bold]a title that is longer than the line", align="left")
    assert words(shown.get()) == "a title that is longer than the line"


def test_characters_that_a_terminal_cannot_show_are_replaced_by_similar_ones():
    done = piped("info", "panda", "--no-counts", **ASCII_TERMINAL)
    assert done.returncode == 0
    assert b"-3.072 ... -0.0698 rad" in done.stdout
    assert b"|tau| <=" in done.stdout
    joints = [line for line in done.stdout.splitlines() if b"revolute z" in line]
    assert len({len(line) for line in joints}) == 1  # replacements do not shift columns
    assert b"?" not in done.stdout


def test_json_is_valid_with_an_ascii_stdout():
    done = piped("robots", "--json", **ASCII_TERMINAL)
    sources = {row["name"]: row["source"] for row in json.loads(done.stdout)}
    assert "Vallés" in sources["puma"]


@NEEDS_TERMINAL
def test_progress_bars_are_erased_when_a_command_has_finished(tmp_path):
    shown = on_terminal("info", "panda", COLUMNS="80", APPELL_CACHE=str(tmp_path))
    after = shown.rpartition("\x1b[2K")[2]
    assert "panda" in after
    assert "deriving" not in after
