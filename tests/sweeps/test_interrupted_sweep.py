"""A sweep of sixty drops with three processes killed by signal 9 ends with the same store as an undisturbed sweep."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell_lab.campaigns.interrupted_sweep import InterruptedSweep, differences

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "studies" / "shafei_drops.py"
DROPS, UNTIL = 60, 0.8  # s


@pytest.fixture
def study(tmp_path):
    """Return the study of the documentation with a table of shorter drops."""
    path = tmp_path / "short_drops.py"
    path.write_text(f"{SOURCE.read_text('utf-8')}\ntable = {{'until': [{UNTIL}] * {DROPS}}}\n", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_sweep_survives_the_kill_of_a_worker_the_scheduler_and_the_client(tmp_path, study):
    sweep = InterruptedSweep(Path(study.__file__), tmp_path / "interrupted.zarr", DROPS, replace_workers=False)
    kills = sweep.run()
    assert [kill.what for kill in kills] == ["worker", "scheduler", "client"]
    assert "SweepError: the connection to the Dask scheduler at" in kills[1].error
    assert "the same command then continues where it stopped" in " ".join(kills[1].error.split())
    stored = [kill.stored for kill in kills]
    assert 0 < stored[0] <= stored[1] <= stored[2]  # no stored block is lost
    undisturbed = ap.sweep(study.study, study.table, tmp_path / "undisturbed.zarr")
    interrupted = ap.sweeps.open(tmp_path / "interrupted.zarr")
    assert stored[2] < -(-DROPS // interrupted.block)
    assert interrupted.done.all()
    assert differences(interrupted, undisturbed) == []
    assert np.abs(interrupted["energy_change"]).max() < 1e-4  # J, of about 50 J: impacts are elastic
    assert len(np.unique(interrupted["largest_impulse"])) == DROPS
