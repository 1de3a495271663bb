"""Tests with the Python of another system (`make windows`, `make arm`): one crash hides no other results."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import programs

CI = Path(__file__).resolve().parents[2] / ".ci"
TESTS = """
import os, pytest
def test_passes(): pass
def test_ends_the_process(): os._exit(3)
def test_is_skipped(): pytest.skip("no judge")
def test_fails(): assert False
"""


@pytest.mark.skipif(os.name == "nt", reason="`make windows` and `make arm` run on Linux")
def test_after_a_crash_the_remaining_tests_run(tmp_path, monkeypatch, capfd):
    monkeypatch.syspath_prepend(str(CI))
    import foreign

    tests = tmp_path / "test_few.py"
    tests.write_text(TESTS, encoding="utf-8")
    python = foreign.Interpreter((sys.executable,), os.environ | {"PYTHONPATH": str(CI)}, tmp_path)
    totals = foreign.Totals()
    python.test(str(tests), (f"--rootdir={tmp_path}",), totals)
    assert totals.passed == 1
    assert totals.failed == [
        "test_few.py::test_ends_the_process: the process ended with exit code 3",
        "test_few.py::test_fails",
    ]
    assert totals.skipped == {"no judge": 1}
    assert "1 failed, 1 skipped" in capfd.readouterr().out


def test_a_compiler_for_another_processor_is_not_used(monkeypatch):
    monkeypatch.delenv("APPELL_PROGRAMS", raising=False)
    monkeypatch.setattr(programs.shutil, "which", lambda name: name)
    monkeypatch.setattr(programs, "target_of", lambda compiler: "sparc64")
    with pytest.raises(pytest.skip.Exception, match="gcc compiles for sparc64, and this Python runs on "):
        programs.find_program("gcc")
    assert programs.find_program("ffmpeg") == "ffmpeg"
