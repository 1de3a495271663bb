"""Maps on the command line: figures and messages of the command `workspace`."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from appell.cli.main import app


def test_the_workspace_command_draws_a_map(tmp_path):
    path = tmp_path / "map.png"
    result = CliRunner().invoke(app, ["workspace", "five-bar", "--points", "40", "--output", str(path)])
    assert result.exit_code == 0, result.output
    assert "of 1,600 poses are reachable" in result.output
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fivebar"], "Did you mean 'five-bar'"),
        (["five-bar", "--over", "x=1"], "--over is 'x=1'"),
        (["five-bar", "--over", "z=0:1", "--over", "x=0:1"], "no coordinate 'z'"),
    ],
)
def test_the_workspace_command_names_what_is_wrong(arguments, words, capfd):
    result = CliRunner().invoke(app, ["workspace", *arguments])
    assert result.exit_code == 1
    assert words in " ".join((result.output + capfd.readouterr().err).split())
