"""Reports of compilations: commands print them, Python only logs them."""

from __future__ import annotations

import logging
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli import output
from appell.cli.main import app

RAMP = ("trajectory", "ramp", "planar-2r", "--to", "1,1", "--output", "ramp.csv")
TORQUES = ("torques", "planar-2r", "ramp.csv")
LINE = re.compile(r"compiling inverse_dynamics of robot 'planar-2r' \.\.\. \d+\.\d\d s \(cached for later runs\)")


@pytest.fixture(autouse=True)
def _fresh(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))


def stderr(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stderr


def test_the_first_compilation_is_reported_and_the_second_is_not(monkeypatch):
    stderr(*RAMP)
    monkeypatch.setattr(output, "MIN_REPORTED_COMPILATION_S", 0.0)
    first, second = stderr(*TORQUES), stderr(*TORQUES)
    assert LINE.search(first), first
    assert second == ""


def test_short_compilations_are_not_reported(monkeypatch):
    stderr(*RAMP)
    monkeypatch.setattr(output, "MIN_REPORTED_COMPILATION_S", 1e9)
    assert stderr(*TORQUES) == ""


def test_without_a_cache_nothing_is_cached(monkeypatch):
    stderr(*RAMP)
    monkeypatch.setenv("APPELL_CACHE", "off")
    monkeypatch.setattr(output, "MIN_REPORTED_COMPILATION_S", 0.0)
    report = stderr(*TORQUES)
    assert "compiling inverse_dynamics of robot 'planar-2r' ... " in report
    assert "cached" not in report


def test_python_prints_nothing_and_logs_on_request(capfd, caplog):
    dyn = ap.Dynamics(ap.load("planar-2r"))
    dyn.mass_matrix(np.zeros(2))
    assert capfd.readouterr() == ("", "")
    with caplog.at_level(logging.INFO, logger="appell"):
        dyn.inverse_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    record = next(record for record in caplog.records if record.work == "compiling")
    assert (record.function, record.owner, record.made) == ("inverse_dynamics", "robot 'planar-2r'", True)
    assert 0.0 < record.seconds < 60.0
    assert f"made in {record.seconds:.3f} s" in record.message


def test_the_logger_is_restored():
    log = logging.getLogger("appell")
    before = log.level, list(log.handlers)
    stderr("robots")
    assert (log.level, log.handlers) == before
