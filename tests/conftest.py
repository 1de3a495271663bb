"""Tests keep their compiled code in a folder of their own, one for all workers of a run; each has one browser."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a run in the background, whose commands would be deaf as well
    signal.signal(signal.SIGINT, signal.default_int_handler)

if "APPELL_CACHE" not in os.environ:
    os.environ["APPELL_CACHE"] = tempfile.mkdtemp(prefix="appell-tests-")  # workers inherit it


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium; see `browser.py`."""
    from browser import start_browser

    started = start_browser(tmp_path_factory.mktemp("chromium"))
    yield started
    started.driver.quit()
