"""A fixture for blocks of a fixed size, independent of the run time of jobs."""

from __future__ import annotations

import pytest

from appell.sweeps import run


@pytest.fixture
def blocks_of(monkeypatch):
    def choose(size):
        monkeypatch.setattr(run, "block_size", lambda tried, count, workers, seconds: size)

    return choose
