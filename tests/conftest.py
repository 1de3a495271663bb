"""Tests use one temporary cache folder for compiled code, shared by all workers, and one browser per worker.

Another one holds Python's bytecode. Commands and pages, each in a process of its own, would otherwise compile all
modules that they import where PYTHONDONTWRITEBYTECODE is set; nothing is written beside the sources.

Collection creates objects that live until the end: garbage is not collected meanwhile, nor searched in them afterwards.
The same holds for the objects that exist at the end of each test module, such as compiled functions in caches.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile

import pytest

from appell.errors import ModelWarning
from programs import find_program, missing_judge, summary

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in a background job, commands would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
FOLDERS = {
    name: tempfile.mkdtemp(prefix="appell-tests-")
    for name in ("APPELL_CACHE", "PYTHONPYCACHEPREFIX")
    if name not in os.environ
}
os.environ |= FOLDERS  # workers inherit them
sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]

NEW_OBJECTS_BEFORE_GARBAGE_COLLECTION = 20_000  # 700 by default
gc.disable()


def pytest_collection_modifyitems(items):
    """Run tests marked `slow` first: a long test that starts last would leave the other workers idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_BEFORE_GARBAGE_COLLECTION, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Exclude the objects that exist at the end of a test module from later searches for garbage."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            gc.collect()
            gc.freeze()


def pytest_unconfigure():
    for folder in FOLDERS.values():
        shutil.rmtree(folder, ignore_errors=True)


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


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a test module that imports a judge that is not installed."""
    report = yield
    if report.failed and (reason := missing_judge(report.call.excinfo and report.call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Skip a test that ends because a judge is not installed."""
    if reason := missing_judge(call.excinfo and call.excinfo.value):
        call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip(reason), call.when).excinfo
    return (yield)


@pytest.fixture(scope="session")
def program():
    """Find programs of the system: `gcc = program("gcc")`; the test is skipped where there are none."""
    return find_program


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A headless Chromium for all tests of a process."""
    from browser import start_browser

    started = start_browser(tmp_path_factory.mktemp("chromium"))
    yield started
    started.driver.quit()


@pytest.fixture(scope="module")
def browser(chromium):
    """The browser of this process; see `browser.py`. Left open, a page that plays would use a third of a core."""
    yield chromium
    chromium.driver.get("about:blank")
