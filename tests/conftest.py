"""Tests use one temporary cache folder for compiled code, shared by all workers, and one browser per worker.

Collection creates objects that live until the end: garbage is not collected meanwhile, nor searched in them afterwards.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import tempfile

import pytest

from appell.errors import ModelWarning
from programs import find_program, summary

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in a background job, commands would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)

if "APPELL_CACHE" not in os.environ:
    os.environ["APPELL_CACHE"] = tempfile.mkdtemp(prefix="appell-tests-")  # workers inherit it

gc.disable()


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter):
    """End the run with one line per reason for which tests were skipped."""
    skipped = terminalreporter.stats.get("skipped", [])
    for line in summary(report.longrepr[-1] for report in skipped):
        terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """The marker `warns("text")` asserts that a test causes a ModelWarning with this text."""
    marker = item.get_closest_marker("warns")
    with pytest.warns(ModelWarning, match=marker.args[0]) if marker else contextlib.nullcontext():
        return (yield)


@pytest.fixture(scope="session")
def program():
    """Find programs of the system: `gcc = program("gcc")`; the test is skipped where there are none."""
    return find_program


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium; see `browser.py`."""
    from browser import start_browser

    started = start_browser(tmp_path_factory.mktemp("chromium"))
    yield started
    started.driver.quit()
