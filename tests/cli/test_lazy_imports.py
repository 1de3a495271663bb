"""Lazy imports: modules, commands and commands of other distributions are loaded when they are used."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli import main

MAX_MODULES = {"--version": 20, "--help": 60}  # of appell; 415 before modules were imported lazily
INIT_FILE = Path(ap.__file__)


def modules_after(code: str) -> list[str]:
    """Return the modules of appell that a new process has imported after some code."""
    report = "print(*(name for name in sys.modules if name.split('.')[0].startswith('appell')), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return done.stderr.split()


@pytest.mark.parametrize("option", MAX_MODULES)
def test_version_and_help_load_few_modules(option):
    run = f"from appell.cli.main import app\nsys.argv = ['appell', '{option}']\ntry: app()\nexcept SystemExit: pass"
    assert len(modules_after(run)) <= MAX_MODULES[option]


def test_the_import_loads_only_the_version():
    assert set(modules_after("import appell")) == {"appell", "appell.version"}


def test_listing_the_commands_loads_no_command():
    code = "import typer\nfrom appell.cli.main import app\ngroup = typer.main.get_command(app)\n"
    loaded = modules_after(f"{code}group.list_commands(typer.Context(group))")
    assert not [name for name in loaded if name.startswith(("appell_lab", "appell.cli.info", "appell.cli.simulate"))]


def test_public_names_are_listed_and_can_be_pickled():
    assert {*ap.__all__, "__version__"} == set(dir(ap))
    assert pickle.loads(pickle.dumps(ap.Vec3(1.0, 2.0, 3.0))) == ap.Vec3(1.0, 2.0, 3.0)


def test_type_checkers_see_the_same_names():
    lines = (
        line.split() for line in INIT_FILE.read_text(encoding="utf-8").splitlines() if line.startswith("    from ")
    )
    seen = {words[-1] for words in lines if words[-1] == words[-3]}
    assert seen == set(ap.__all__)


@pytest.mark.parametrize("command", main.LAB_COMMANDS)
def test_a_command_of_the_laboratory_that_is_not_installed_names_its_distribution(command, monkeypatch):
    monkeypatch.setattr(main, "entry_points", lambda group: ())
    result = CliRunner().invoke(main.app, [command], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "pip install appell-lab" in result.output


def test_an_installation_without_the_laboratory_lists_its_own_commands(monkeypatch):
    monkeypatch.setattr(main, "entry_points", lambda group: ())
    shown = CliRunner().invoke(main.app, ["--help"], env={"COLUMNS": "200"}).output
    assert all(command in shown for command in main.COMMANDS)
    assert "reproduce" not in shown


def test_an_unknown_command_gets_a_suggestion():
    result = CliRunner().invoke(main.app, ["simulat"], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "Did you mean 'simulate'" in result.output
