"""What a run costs, measured as `make bench` does it: against Pinocchio in the same process, in processor time."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from appell.lab.bench.subject import Subject


@pytest.fixture(scope="module")
def benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "simulation.py"
    spec = importlib.util.spec_from_file_location("simulation_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["puma", "ur5"])
def test_a_swing_is_five_times_faster_than_pinocchio_in_solve_ivp_and_no_less_accurate(benchmark, name):
    source = "puma" if name == "puma" else str(benchmark.robot_file("ur5_robot.urdf"))
    found = benchmark.swing(Subject(name, source), turns=3)
    assert found["times faster"] >= benchmark.AIMS["swing, times faster"]
    assert found["steps, ours"] == found["steps, theirs"]
    assert found["error, ours"] == pytest.approx(found["error, theirs"], rel=0.1)
