"""Sixty drops of the tree robot in its wall, killed with signal 9 three times, end in the undisturbed store."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell_lab.campaigns.interrupted_sweep import BesiegedSweep, differences

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "studies" / "shafei_drops.py"
DROPS, UNTIL = 60, 0.8  # s


@pytest.fixture
def study(tmp_path):
    """The study of the documentation, with a table of shorter drops."""
    path = tmp_path / "short_drops.py"
    path.write_text(f"{SOURCE.read_text('utf-8')}\ntable = {{'until': [{UNTIL}] * {DROPS}}}\n", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_sweep_survives_the_death_of_a_worker_the_scheduler_and_the_client(tmp_path, study):
    kills = BesiegedSweep(Path(study.__file__), tmp_path / "besieged.zarr", DROPS, hires=False).run()
    assert [kill.what for kill in kills] == ["worker", "scheduler", "client"]
    assert "SweepError: the Dask scheduler at" in kills[1].error
    assert "the same command goes on where it stopped" in kills[1].error
    stored = [kill.stored for kill in kills]
    assert 0 < stored[0] <= stored[1] <= stored[2]  # nothing that was stored went away
    undisturbed = ap.sweep(study.study, study.table, tmp_path / "undisturbed.zarr")
    besieged = ap.sweeps.open(tmp_path / "besieged.zarr")
    assert stored[2] < -(-DROPS // besieged.block)
    assert besieged.done.all()
    assert differences(besieged, undisturbed) == []
    assert np.abs(besieged["energy_change"]).max() < 1e-4  # J of about 50: impacts lose nothing
    assert len(np.unique(besieged["largest_impulse"])) == DROPS
