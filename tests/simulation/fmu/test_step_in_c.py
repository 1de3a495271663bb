"""A step of a rollout in C, taken again and again, leads where the rollout leads, to the last bit."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

import appell as ap
from appell.compile.native.machine import host
from appell.errors import ArgumentError
from appell.simulation import Rollout


@pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
@pytest.mark.parametrize(("method", "dtype"), [("euler", "float64"), ("midpoint", "float64"), ("euler", "float32")])
def test_steps_in_c_give_the_states_of_a_rollout(method, dtype, tmp_path, program):
    """Midpoint is a loop in C too."""
    clang = program("clang")
    robot, real = ap.load("puma"), {"float64": ctypes.c_double, "float32": ctypes.c_float}[dtype]
    q0, plan = np.linspace(-0.4, 0.4, 6), Rollout(ap.Dynamics(robot), method=method)
    plan.scan.to_c("arm", start={"q": q0}, dtype=dtype).write(tmp_path)
    flags = ["-O2", "-march=native", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([clang, *flags, "arm.c", "-o", "arm.so", "-lm"], cwd=tmp_path, check=True)
    arm = ctypes.CDLL(str(tmp_path / "arm.so"))
    state, torque = np.zeros(12, dtype), np.zeros(6, dtype)
    noted = [np.zeros(array.size, dtype) for array in plan.scan.outputs[2:]]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (torque, *noted)]
    arm.arm_init(ctypes.c_void_p(state.ctypes.data))
    wanted = plan(q0, np.zeros(6), steps=50, dt=1e-3, output=ap.simulation.Output(dtype=dtype))
    for k in range(50):
        assert np.array_equal(state, [*wanted.q[0, k], *wanted.v[0, k]]), k
        arm.arm_step(ctypes.c_void_p(state.ctypes.data), real(1e-3), real(1e-3 * k), *pointers)


def test_a_start_of_something_that_is_not_carried_is_refused():
    with pytest.raises(ArgumentError, match=r"no carried argument 'torque'\. It has: q, v"):
        Rollout(ap.load("pendulum")).scan.to_c("arm", start={"torque": 1.0})
