"""Linear systems of an arm, against Pinocchio's derivatives and python-control."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from appell.control.arm import Arm
from appell.control.law.linear import linearize
from appell.describe.write import to_urdf
from appell.errors import ArgumentError
from control_motion import START


def test_the_matrices_are_pinocchios(puma):
    import pinocchio as pin

    model = pin.buildModelFromXML(to_urdf(puma))
    data, v, tau = model.createData(), np.linspace(-1, 1, 6), np.linspace(20, -60, 6)
    system = linearize(Arm(puma), START, v, tau)
    pin.computeABADerivatives(model, data, START, v, tau)
    M = pin.crba(model, data, START)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(system.A[6:, :6], data.ddq_dq, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.A[6:, 6:], data.ddq_dv, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.B[6:], np.linalg.inv(M), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(system.A[:6], np.hstack([np.zeros((6, 6)), np.eye(6)]))


def test_python_control_gets_the_same_system_with_names(puma):
    import control

    system = linearize(Arm(puma, viscous=2.0), START)
    theirs = system.to_control()
    np.testing.assert_allclose(np.sort_complex(control.poles(theirs)), np.sort_complex(system.poles), atol=1e-9)
    assert theirs.state_labels[:2] == ["q_joint1", "q_joint2"]
    assert theirs.input_labels[5] == "tau_joint6"
    sampled = system.sampled(1e-3).to_control()
    assert sampled.dt == 1e-3
    np.testing.assert_allclose(sampled.A, control.c2d(theirs, 1e-3).A, atol=1e-12)


def test_a_sampled_system_keeps_its_poles(puma):
    system = linearize(Arm(puma, viscous=2.0), START)
    np.testing.assert_allclose(
        np.sort_complex(system.sampled(1e-3).poles), np.sort_complex(system.poles), rtol=1e-5, atol=1e-5
    )
    with pytest.raises(ArgumentError, match="sampled already"):
        system.sampled(1e-3).sampled(1e-3)


def test_without_python_control_its_name_is_given(puma, monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(ArgumentError, match="pip install control"):
        linearize(Arm(puma), START).to_control()


def test_a_state_of_the_wrong_size_is_refused(puma):
    with pytest.raises(ArgumentError, match=r"expected  \(6,\) each"):
        linearize(Arm(puma), [0.0, 1.0])
