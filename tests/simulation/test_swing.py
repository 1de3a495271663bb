"""A plain swing as `make bench` measures it, beside Pinocchio in SciPy: as many steps, and as near to the truth."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from appell_lab.bench.subject import Subject


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
def test_a_swing_takes_the_steps_of_solve_ivp_and_is_as_accurate(benchmark, name):
    source = "puma" if name == "puma" else str(benchmark.robot_file("ur5_robot.urdf"))
    result = benchmark.swing(Subject(name, source), turns=1)
    assert result["steps, ours"] == result["steps, theirs"]
    assert result["error, ours"] == pytest.approx(result["error, theirs"], rel=0.1)
