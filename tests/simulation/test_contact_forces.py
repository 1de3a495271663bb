"""Columns of contact forces in records of `simulate`: balances of forces and momentum, names, files and figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell.simulation.events import hybrid

G, MASS, FRICTION = 9.81, 2.0, 0.3
SIDE = 0.2


def block(tilt: float = 0.0) -> ap.Robot:
    """Return a box on the plane z = 0, with gravity tilted by an angle about y."""
    build = ap.Builder("block", root=None, gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    return build.free_body("box", "box", (SIDE, SIDE, SIDE), mass=MASS, xyz=(0, 0, SIDE / 2)).build()


def total(record: ap.Record) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of all normal forces and of all friction forces, (rows,) and (rows, 3)."""
    return record["normal"].sum(axis=1), record["friction"].reshape(len(record), -1, 3).sum(axis=1)


def test_friction_of_a_sliding_block_opposes_it_until_it_stops():
    contacts = ap.BodyContact([("box", ap.Plane())], friction=FRICTION)
    record = ap.simulate(block(), v0=[0.5, 0, 0, 0, 0, 0], until=0.3, contacts=contacts, contact_forces=True)
    normal, friction = total(record)
    slides = (record.t > 0.0) & (record.v[:, 0] > 1e-9)
    np.testing.assert_allclose(normal[1:], MASS * G, rtol=1e-9)
    np.testing.assert_allclose(friction[slides], len(friction[slides]) * [[-FRICTION * MASS * G, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(friction[-1], 0.0, atol=1e-9)


def test_friction_holds_a_block_on_an_incline():
    tilt = np.arctan(0.5 * FRICTION)
    contacts = ap.BodyContact([("box", ap.Plane())], friction=FRICTION)
    record = ap.simulate(block(tilt), until=0.1, contacts=contacts, contact_forces=True)
    normal, friction = total(record)
    assert normal[-1] == pytest.approx(MASS * G * np.cos(tilt))
    np.testing.assert_allclose(friction[-1], [-MASS * G * np.sin(tilt), 0, 0], atol=1e-9)


@pytest.mark.parametrize(("pair", "sign"), [(("low", "high"), 1.0), (("high", "low"), -1.0)])
def test_friction_acts_on_the_first_shape_of_a_contact(pair, sign):
    """A box slides in x on another one, which is fixed, and pulls it in x."""
    build = ap.Builder("two", root=None).collision(None, "box", (2.0, 1.0, 0.1), xyz=(0, 0, -0.05), name="low")
    build.free_body("high", "box", (SIDE, SIDE, SIDE), mass=MASS, xyz=(0, 0, SIDE / 2))
    contacts = ap.BodyContact([pair], friction=FRICTION)
    record = ap.simulate(build.build(), v0=[0.5, 0, 0, 0, 0, 0], until=0.05, contacts=contacts, contact_forces=True)
    normal, friction = total(record)
    assert normal[-1] == pytest.approx(MASS * G)
    np.testing.assert_allclose(friction[-1], [sign * FRICTION * MASS * G, 0, 0], atol=1e-6)


def test_forces_on_points_satisfy_the_equations_of_motion():
    robot = ap.load("puma").with_frames([ap.Frame("tip", "link6", ap.Pose(translation=(0.0, 0.0, 0.1)))])
    dyn, q0 = ap.Dynamics(robot), np.array([0.3, -0.5, 0.2, 0.4, 0.6, 0.1])
    at, normal = dyn.pose("tip")(q0)[:3, 3], np.array([0.0, 0.0, 1.0])
    wall = ap.Contact("tip", ap.Plane(tuple(normal), float(normal @ at)), friction=0.2)
    record = ap.simulate(dyn, q0, until=0.2, contacts=wall, contact_forces=True)
    changes, checked = [event.time for event in record.events], 0
    for k in np.flatnonzero(record["normal"][:, 0] > 0.0)[1:-1]:
        t, h = record.t[k], 1e-5
        if min(abs(t - time) for time in changes) < 10.0 * h:
            continue
        a = (record(t + h)[1] - record(t - h)[1]) / (2.0 * h)
        force = record["normal"][k, 0] * normal + record["friction"][k]
        jacobian = dyn.jacobian("tip", "LOCAL_WORLD_ALIGNED")(record.q[k])[:3]
        missing = dyn.inverse_dynamics(record.q[k], record.v[k], a)
        np.testing.assert_allclose(jacobian.T @ force, missing, atol=1e-4 * np.abs(missing).max())
        checked += 1
    assert checked > 3


def test_mean_forces_of_time_stepping_change_the_momentum(monkeypatch):
    monkeypatch.setattr(hybrid, "BUCKET_CAPACITY", 0)
    monkeypatch.setattr(hybrid, "STEADY_STEPS", 1_000_000)
    contacts = ap.BodyContact([("box", ap.Plane())], 0.5, FRICTION)
    v0 = [0.2, 0, 0, 1.0, 2.0, 0.5]
    record = ap.simulate(block(), v0=v0, until=0.1, contacts=contacts, contact_forces=True)
    (start,) = (event.time for event in record.events if event.kind == "time stepping")
    rows = np.flatnonzero(record.t > start)
    assert len(rows) > 100
    normal, friction = total(record)
    force = friction[rows] + np.array([0.0, 0.0, 1.0]) * (normal[rows, None] - MASS * G)
    turn = Rotation.from_quat(record.q[:, 3:7]).as_matrix()
    momentum = MASS * np.einsum("kij,kj->ki", turn, record.v[:, :3])
    impulses = force * np.diff(record.t)[rows - 1, None]
    change = momentum[rows[-1]] - momentum[rows[0] - 1]
    np.testing.assert_allclose(impulses.sum(axis=0), change, atol=2e-3 * np.abs(impulses).sum())


def test_columns_are_stored_drawn_and_absent_by_default(tmp_path):
    pytest.importorskip("matplotlib")
    contacts = ap.BodyContact([("box", ap.Plane())], friction=FRICTION)
    options = {"v0": [0.5, 0, 0, 0, 0, 0], "until": 0.1, "contacts": contacts, "t_eval": np.linspace(0.0, 0.1, 5)}
    record = ap.simulate(block(), contact_forces=True, **options)
    plain = ap.simulate(block(), **options)
    assert "normal" not in plain
    np.testing.assert_array_equal(record.data[:, : len(plain.columns)], plain.data)
    assert record.names("normal")[0] == "box corner +x +y -z - plane face"
    assert record.unit("friction_box corner +x +y -z - plane face_x") == "N"
    record.write(tmp_path / "slide.csv")
    stored = ap.Record.read(tmp_path / "slide.csv")
    assert stored.columns == record.columns
    np.testing.assert_array_equal(stored["normal"], record["normal"])
    labels = [axis.get_ylabel() for axis in record.plot().axes]
    assert "normal force [N]" in labels
    assert "friction [N]" in labels


def test_smooth_contacts_have_no_friction_columns_and_flights_no_forces():
    contacts = ap.BodyContact([("box", ap.Plane())], friction=0.0)
    record = ap.simulate(block(), until=0.1, contacts=contacts, contact_forces=True)
    assert len(record.names("normal")) == 4
    assert "friction" not in record
    flight = ap.simulate(block(), q0=[0, 0, 5.0, 0, 0, 0, 1], until=0.1, contacts=contacts, contact_forces=True)
    assert "normal" not in flight
