"""Output files of commands, hints with options, layout of the output, and errors without tracebacks."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from appell.cli.main import app, error_message, option_names
from appell.errors import ArgumentError, Hint, gathered
from terminals import all_commands

HOLLOW = """<robot name="hollow"><link name="base"/><link name="arm"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
MARKED = """name = "arm [/b] [red]"
[[link]]
name = "rod [x]"
joint = "revolute"
joint_name = "hinge [/]"
axis = [0, 1, 0]
mass = 1.0
com = [0, 0, -0.5]
inertia = [0.1, 0.1, 0.01]
"""
SWING = ("simulate", "pendulum", "--q", "1", "--until", "0.1")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, columns: int = 100):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})


def process(*arguments: str, **environment: str):
    command = [sys.executable, "-m", "appell", *arguments]
    return subprocess.run(command, capture_output=True, check=False, env=os.environ | environment)


@pytest.mark.parametrize(
    "command",
    [
        (*SWING, "--output", "existing.csv"),
        (*SWING, "--plot", "existing.png"),
        (*SWING, "--movie", "existing.gif"),
        ("trajectory", "ramp", "pendulum", "--to", "1", "--output", "existing.csv"),
        ("trajectory", "ramp", "pendulum", "--to", "1", "--plot", "existing.png"),
        ("workspace", "five-bar", "--points", "5", "--output", "existing.png"),
        ("control", "run", "pendulum", "--log", "existing.log"),
        ("bench", "--output", "existing.json"),
    ],
)
def test_existing_files_are_not_overwritten_without_force(command, tmp_path):
    target = tmp_path / command[-1]
    target.write_text("precious")
    result = run(*command)
    assert result.exit_code == 1
    assert "already exists" in result.output
    assert "cannot be written" not in result.output
    assert "--force" in result.output
    assert target.read_text() == "precious"


def test_force_overwrites_a_file(tmp_path):
    (tmp_path / "existing.csv").write_text("old")
    assert run(*SWING, "--output", "existing.csv", "--force").exit_code == 0
    assert "q_" in (tmp_path / "existing.csv").read_text()


@pytest.mark.parametrize("option", ["--output", "--plot", "--movie"])
@pytest.mark.parametrize(
    ("name", "message"), [("a.xyz", "expected"), ("no/folder/a", "does not exist"), ("n" * 300, "")]
)
def test_an_invalid_file_name_is_reported_before_the_computation(option, name, message):
    ending = {"--output": ".csv", "--plot": ".png", "--movie": ".gif"}[option]
    result = run(*SWING, option, name if name.endswith(".xyz") else name + ending)
    assert result.exit_code == 1
    assert "ArgumentError" in result.output
    assert message in result.output
    assert "energy" not in result.output


def test_hints_name_options(tmp_path):
    (tmp_path / "hollow.urdf").write_text(HOLLOW)
    result = run("simulate", "hollow.urdf")
    assert result.exit_code == 1
    assert "--no-physical" in result.output
    assert "physical=False" not in result.output


def test_a_hint_names_the_options_that_the_command_has():
    options = option_names(all_commands()["identify"])
    hint = Hint(
        "{columns}, {solver} or {foo}; {physical}", columns={"t": "<name>"}, solver="svd", foo=True, physical=False
    )
    error = ArgumentError("problem with physical=False", hint=hint)
    assert str(error).endswith("hint      columns={'t': '<name>'}, solver='svd' or foo=True; physical=False")
    assert error_message(error, options).endswith(
        "hint      --columns 't=<name>', --method svd or foo=True; --no-physical"
    )
    assert error_message(error, options).startswith("problem with physical=False\n")
    assert pickle.loads(pickle.dumps(error)).message() == error.message()
    assert "--no-physical" in error_message(gathered([error, ArgumentError("another")], "robot"), options)


def test_a_hint_on_columns_names_the_option_and_no_keyword(tmp_path):
    (tmp_path / "log.csv").write_text("t,pos1,pos2\n" + "".join(f"{0.1 * k},0,0\n" for k in range(50)))
    output = " ".join(run("identify", "log.csv", "--robot", "planar-2r").output.split())
    assert "--columns" in output
    assert "patterns" not in output
    assert "columns=" not in output


@pytest.mark.parametrize(
    "command",
    [
        ("info", "arm.toml"),
        ("count", "arm.toml"),
        ("simulate", "arm.toml", "--until", "0.1"),
        ("trajectory", "ramp", "arm.toml", "--to", "1"),
    ],
)
def test_names_are_not_interpreted_as_markup(command, tmp_path):
    (tmp_path / "arm.toml").write_text(MARKED)
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "[/" in result.output


@pytest.mark.parametrize(
    "command",
    [
        ("robots",),
        ("info", "puma"),
        ("info", "stewart-gough", "--no-counts"),
        ("count", "planar-2r"),
        ("formulations",),
        (*SWING,),
        ("trajectory", "ramp", "panda", "--to", "0.5,-0.5,0,-2,0,1.5,0.8"),
    ],
)
def test_output_fits_a_hundred_columns(command, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    result = CliRunner().invoke(app, list(command), env={"COLUMNS": None})
    assert result.exit_code == 0
    unbroken = ("  data", "  source")  # lines with one path or one citation, which are not wrapped
    assert all(len(line.rstrip()) <= 100 or line.startswith(unbroken) for line in result.output.splitlines())


@pytest.mark.parametrize(
    ("command", "units"),
    [
        (("info", "puma", "--no-counts"), ("N m s/rad", "kg m²")),
        (("info", "panda", "--no-counts"), ("2.897 rad", "rad/s")),
        (("trajectory", "ramp", "stanford", "--to", "0.1,1,0.6,0,0.5,0"), ("rad", "m ", "unit/s²")),
    ],
)
def test_tables_have_units(command, units):
    output = run(*command).output
    assert all(unit in output for unit in units)


def test_simulate_prints_the_energy_at_the_start_and_at_the_end():
    output = run("simulate", "pendulum", "--q", "1", "--until", "0.3").output
    line = next(line for line in output.splitlines() if line.startswith("energy"))
    words = line.replace(",", "").split()
    first, last, change = float(words[1]), float(words[6]), float(words[-2])
    assert abs(last - first) < 1e-6
    assert abs(change - (last - first)) <= 1e-7


ROBOT_COMMANDS = ("simulate", "torques", "excite", "count", "info", "identify", "workspace", "bench")
GROUPED = {"trajectory": ("line", "ramp", "fastest"), "control": ("run", "cabinet", "replay")}


@pytest.mark.parametrize(
    "command", [*ROBOT_COMMANDS, *(f"{group} {name}" for group, names in GROUPED.items() for name in names)]
)
def test_every_command_that_reads_a_robot_has_the_option_no_physical(command):
    assert "--no-physical" in run(*command.split(), "--help").output


def test_a_terminal_without_unicode_causes_no_traceback():
    # In the C locale, Python cannot read the .pth file of an environment in a folder with non-ASCII letters.
    locale = {"PYTHONUTF8": "0", "LC_ALL": "C"} if sys.prefix.isascii() else {}
    done = process("info", "panda", "--no-counts", PYTHONIOENCODING="ascii", **locale)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_disk_is_an_error_without_a_traceback():
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "appell", "robots"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr


def test_a_reference_file_may_have_an_upper_case_ending(tmp_path):
    log = ("--log", str(tmp_path / "a.log"), "--plot", str(tmp_path / "a.png"))
    result = run("control", "run", "planar-2r", "--reference", str(tmp_path / "missing.CSV"), *log)
    assert result.exit_code == 1
    assert "the record cannot be read" in result.output
