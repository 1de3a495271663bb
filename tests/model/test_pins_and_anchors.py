"""Pins check that the loops of a mechanism close; Stewart-Gough platforms with arbitrary anchors."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.legs import Angle, closing_angle, cylinder, disc
from appell.describe.zoo.mechanisms import stewart_gough

CRANK, ROD = 0.1, 0.3
STEP = np.array([0.02, -0.01, 0.03, 0.1, -0.05, 0.08])


def crank_slider(error: float = 0.0, **options) -> ap.Mechanism:
    """A crank slider whose slider moves 1 + `error` times as far as the rod requires."""

    def motor(q):
        return closing_angle(q[0], 0.0, (q[0] * q[0] + (CRANK**2 - ROD**2)) * (0.5 / CRANK), 1)

    def rod(q):
        pin = CRANK * ap.Vec3(motor(q).cosine, motor(q).sine, 0.0)
        return ap.Pose(Angle((q[0] - pin.x) * (1 / ROD), -pin.y * (1 / ROD)).about_z, pin)

    bodies = [
        ap.MovingBody("crank", lambda q: ap.Pose(motor(q).about_z), cylinder(0.4, CRANK, 0.01)),
        ap.MovingBody("rod", rod, cylinder(0.6, ROD, 0.01)),
        ap.MovingBody(
            "slider", lambda q: ap.Pose(translation=ap.Vec3(q[0] + error * (q[0] - 0.3), 0, 0)), disc(0.5, 0.02)
        ),
    ]
    pins = [ap.Pin("crank"), ap.Pin("crank", (CRANK, 0, 0), "rod"), ap.Pin("rod", (ROD, 0, 0), "slider")]
    drive = ap.LegJoint("crank", lambda q: motor(q).value)
    return ap.Mechanism("crank-slider", ("x",), bodies, [drive], home=(0.3,), **{"pins": pins, **options})


def test_closed_loops_are_accepted():
    assert len(crank_slider().pins) == 3
    assert crank_slider(error=0.1, pins=()).pins == ()


def test_a_loop_that_closes_only_at_home_is_rejected_with_its_gap():
    """The slider moves 1.1 times as far as it should: 1 mm too far at a step of 10 mm."""
    with pytest.raises(
        ap.ModelError,
        match=r"do not close: body 'rod' and 'slider' are 0\.001 m apart at x = 0\.31",
    ):
        crank_slider(error=0.1)


def test_open_pins_on_the_world_and_pins_on_unknown_bodies_are_rejected():
    with pytest.raises(ap.ModelError, match=r"body 'crank' and the world are 0\.5 m apart at home"):
        crank_slider(pins=[ap.Pin("crank", other_point=(0.5, 0, 0))])
    with pytest.raises(ap.ModelError, match=r"no body 'crnk'. Did you mean 'crank'"):
        crank_slider(pins=[ap.Pin("crnk")])


@pytest.mark.parametrize("name", ["five-bar", "three-rrr", "delta", "stewart-gough"])
def test_mechanisms_of_the_zoo_have_pins_that_close_far_from_home(name):
    system = ap.load(name)
    assert system.pins
    for seed in range(5):
        q = system.random_configuration(seed).tolist()
        poses = {part.name: part.base @ part.pose(q) for part in system.parts}
        for pin in system.pins:
            one, other = pin.ends(poses)
            np.testing.assert_allclose(list(one), list(other), atol=1e-12)


def test_a_pose_that_is_a_rotation_only_at_home_is_rejected():
    """The cosine is approximated by 1."""
    body = ap.MovingBody("arm", lambda q: ap.Pose(Angle(1.0 + 0.0 * q[0], q[0]).about_z), disc(1.0, 0.1))
    with pytest.raises(ap.ModelError, match=r"body 'arm' of mechanism 'm' is not a rotation at phi = 0\.01"):
        ap.Mechanism("m", ("phi",), [body], [ap.LegJoint("motor", lambda q: q[0])], home=(0.0,))


# ---- arbitrary anchors


def anchors(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Anchors near the circles of the default platform, but out of their planes."""
    rng, angles = np.random.default_rng(seed), np.radians([-10, 10, 110, 130, 230, 250])
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=-1)
    turned = np.stack([np.cos(angles + 0.7), np.sin(angles + 0.7), np.zeros(6)], axis=-1)
    return 0.5 * ring + rng.uniform(-0.06, 0.06, (6, 3)), 0.3 * turned[[5, 0, 1, 2, 3, 4]] + rng.uniform(
        -0.06, 0.06, (6, 3)
    )


def test_leg_lengths_are_the_distances_between_arbitrary_anchors():
    below, above = anchors(0)
    system = stewart_gough(base_anchors=below, platform_anchors=above.tolist())
    dyn, q = ap.Dynamics(system), system.start + STEP
    T = dyn.pose("platform", q)
    lengths = np.linalg.norm(T[:3, 3] + above @ T[:3, :3].T - below, axis=1)
    np.testing.assert_allclose(dyn.actuator_positions(q), lengths, rtol=1e-14)


def test_leg_forces_satisfy_statics():
    """With massless legs, forces along them balance the force and moment of the platform's weight."""
    below, above = anchors(1)
    light = {"cylinder_mass": 1e-9, "piston_mass": 1e-9, "platform": ap.load("stewart-gough").bodies["platform"]}
    system = stewart_gough(base_anchors=below, platform_anchors=above, **light)
    dyn, q = ap.Dynamics(system), system.start + STEP
    T = dyn.pose("platform", q)
    arms = above @ T[:3, :3].T
    legs = T[:3, 3] + arms - below
    units = legs / np.linalg.norm(legs, axis=1, keepdims=True)
    weight = np.array([0.0, 0.0, -9.81 * light["platform"].mass, 0.0, 0.0, 0.0])
    forces = np.linalg.solve(np.vstack([units.T, np.cross(arms, units).T]), -weight)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, np.zeros(6), np.zeros(6)), forces, rtol=1e-6)


def test_anchors_are_written_to_files_and_read_back(tmp_path):
    below, above = anchors(2)
    system = stewart_gough(base_anchors=below, platform_anchors=above)
    ap.to_toml(system, tmp_path / "platform.toml")
    back = ap.load(tmp_path / "platform.toml")
    q = system.start + 0.01
    np.testing.assert_array_equal(ap.Dynamics(back).actuator_positions(q), ap.Dynamics(system).actuator_positions(q))


@pytest.mark.parametrize("given", [np.zeros((5, 3)), np.zeros((6, 2)), np.full((6, 3), np.nan)])
def test_invalid_anchors_are_rejected(given):
    with pytest.raises(ap.ArgumentError, match=r"(?s)anchors.*six points \(x, y, z\)"):
        stewart_gough(base_anchors=given)
