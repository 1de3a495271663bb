"""Properties of the mechanisms of the zoo that the tests of physical laws do not cover."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from answers import interpreted
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from systems import MAX_FROM_START


@pytest.fixture(params=list(MECHANISMS), scope="module")
def case(request):
    system = MECHANISMS[request.param](gravity=(1.0, -2.0, -9.0))
    rng = np.random.default_rng(7)
    shape = (50, system.nq)
    q = system.start + rng.uniform(-1, 1, shape) * MAX_FROM_START[request.param]
    return Dynamics(system), q, rng.normal(size=shape), rng.normal(size=shape)


def test_derivatives_agree_with_finite_differences(case):
    mechanism, *motion = case
    q, v, a = (x[:4] for x in motion)
    derivative = mechanism.inverse_dynamics.jacobian("q")
    exact = np.array([interpreted(derivative, *sample) for sample in zip(q, v, a, strict=True)])
    step = 1e-5
    for k in range(mechanism.system.nq):
        shift = step * np.eye(mechanism.system.nq)[k]
        ahead, behind = mechanism.inverse_dynamics(q + shift, v, a), mechanism.inverse_dynamics(q - shift, v, a)
        error = np.abs((ahead - behind) / (2 * step) - exact[..., k])
        assert error.max() < 1e-5 * np.abs(exact).max()  # O(step²) of a third derivative in the hundreds


def test_a_batch_equals_its_samples_bit_for_bit(case):
    mechanism, q, v, a = case
    batch = mechanism.inverse_dynamics(q, v, a)
    assert np.array_equal(batch[3], mechanism.inverse_dynamics(q[3], v[3], a[3]))
    again = pickle.loads(pickle.dumps(mechanism.inverse_dynamics))
    assert np.array_equal(batch, again(q, v, a))


def test_poses_are_rotations_at_all_reachable_configurations(case):
    mechanism, q, _, _ = case
    for name in mechanism.system.body_names:
        pose = mechanism.pose(name)(q)
        R = pose[:, :3, :3]
        assert np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max() < 1e-13
        assert np.linalg.det(R).min() > 0.999


def test_variations_keep_class_design_and_recipe_of_a_mechanism(case):
    dyn, *_ = case
    changed = (
        dyn.system.with_bodies({})
        .with_actuators({})
        .with_gravity((0, 0, -1))
        .with_free("platform" if "platform" in dyn.system.body_names else dyn.system.body_names[0])
    )
    assert type(changed) is type(dyn.system)
    assert changed.design is dyn.system.design
    assert changed.recipe is dyn.system.recipe
    assert changed.reaches == dyn.system.reaches


def test_the_explicit_equations_follow_a_change_of_bodies():
    wrist = MECHANISMS["agile-wrist"]()
    heavy = wrist.bodies["platform"]
    other = wrist.with_bodies({"platform": type(heavy)(2.0 * heavy.mass, heavy.com, 2.0 * heavy.inertia)})
    q = np.array([0.1, 0.2, -0.1])
    one, two = (Dynamics(other, name).mass_matrix(q) for name in ("differentiated", "explicit"))
    assert np.abs(one - two).max() < 1e-15
    assert np.abs(one - Dynamics(wrist).mass_matrix(q)).max() > 1e-3
