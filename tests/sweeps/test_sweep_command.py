"""`appell sweep`: a study from a file, the content of its store, and invalid arguments."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from appell.cli import sweep as command
from appell.cli.main import app

STUDY = """
from helper import twice
table = {"x": list(range(40)), "name": ["a"] * 40}

def study(x, name):
    if x == 7:
        raise ValueError(f"no {x}")
    return {"y": twice(x), "pair": [x, -x], "many": [x] * 20}
"""


def run(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "helper.py").write_text("def twice(x):\n    return 2.0 * x\n")
    path = tmp_path / "a_study_to_sweep.py"
    path.write_text(STUDY)
    yield path
    for name in ("helper", "a_study_to_sweep"):
        sys.modules.pop(name, None)


def test_a_study_from_a_file_is_run_shown_and_continued(study, tmp_path):
    out = tmp_path / "s.zarr"
    first = run(study, "--out", out)
    assert first.exit_code == 0, first.output
    again, shown = run(study, "--out", out), run("--show", out)
    for result in (first, again, shown):
        assert "study: 40 jobs, 39 done, 1 failed" in result.output
        assert re.search(r"y +0 +[\d.]+ +40 +[\d.]+ +78", result.output)
        assert re.search(r"pair\[1\] +-39", result.output)
        assert re.search(r"many, all +0", result.output)
        assert "job 7 (name='a', x=7) failed: ValueError: no 7" in result.output


def test_a_corrected_study_retries_failed_jobs(study, tmp_path):
    out = tmp_path / "s.zarr"
    run(study, "--out", out)
    study.write_text(STUDY.replace("x == 7", "x == 70"))
    refused = run(study, "--out", out, "--retry-failed")
    assert refused.exit_code == 1
    assert "--accept-study" in refused.output
    corrected = run(study, "--out", out, "--retry-failed", "--accept-study")
    assert "40 jobs, 40 done" in corrected.output


def test_first_limits_the_number_of_jobs_and_must_be_positive(study, tmp_path):
    assert "5 jobs, 5 done" in run(study, "--out", tmp_path / "s.zarr", "--first", 5).output
    assert run(study, "--out", tmp_path / "t.zarr", "--first", 0).exit_code == 1


def test_ctrl_c_leaves_a_store_and_prints_how_to_continue(study, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("appell.sweep", interrupted)
    result = run(study, "--out", tmp_path / "s.zarr")
    assert result.exit_code == command.INTERRUPTED
    assert "Repeat the command to continue" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a study or --out is missing"),
        (("missing.py", "--out", "s.zarr"), "cannot be read as a Python file"),
        (("--show", "missing.zarr"), "the store 'missing.zarr' does not exist"),
        (("empty.py", "--out", "s.zarr"), "has no name 'study'"),
        (("empty.py", "--out", "s.zarr", "--workers", "-1"), "has no name 'study'"),
    ],
)
def test_invalid_arguments_print_an_error_without_traceback(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "empty.py").write_text("table = 5\n")
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.output
    sys.modules.pop("empty", None)


def test_the_json_output_has_the_same_content(study, tmp_path):
    out = tmp_path / "s.zarr"
    data = json.loads(run(study, "--output", out, "--json").stdout)
    [row] = [row for row in data["results"] if row["result"] == "y"]
    expected = np.quantile([2.0 * x for x in range(40) if x != 7], (0.0, 0.05, 0.5, 0.95, 1.0))
    assert list(row.values())[1:] == expected.tolist()
    assert data["failures"][0]["parameters"] == {"x": 7, "name": "a"}
    assert data["summary"] == "40 jobs, 39 done, 1 failed"
    assert json.loads(run("--show", out, "--json").stdout) == data
