"""Running rollouts: bad input, members that diverge, division into calls, threads, single precision, Ctrl-C."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.progress import Bar
from appell.simulation import ImpulseContacts, Output, Rollout, SpringContacts
from appell.simulation.rollouts import results
from free_bodies import box
from robots import random_chain


@pytest.fixture(scope="module")
def arm() -> Rollout:
    return Rollout(ap.Dynamics(ap.load("planar-2r")))


@pytest.fixture(scope="module")
def starts() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(101, 2))


# ---- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dt": 0.0}, "dt, the length of a step, is 0.0"),
        ({"dt": -1e-3}, "dt, the length of a step, is -0.001"),
        ({"dt": np.nan}, "dt, the length of a step, is nan"),
        ({"dt": "fast"}, "dt, the length of a step, is 'fast'"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": 10.5}, "steps is 10.5"),
        ({"steps": 10, "output": Output(every=3)}, "every is 3 and steps is 10"),
        ({"q0": [0.0]}, r"q0 has shape \(1,\)"),
        ({"q0": np.zeros((2, 3, 2))}, r"q0 has shape \(2, 3, 2\)"),
        ({"q0": "home"}, "q0 is not an array of numbers"),
        ({"q0": np.zeros((0, 2))}, "there are no members"),
        ({"q0": [np.nan, 0.0]}, "q0 contains a value that is not finite"),
        ({"v0": np.zeros((4, 3))}, r"v0 has shape \(4, 3\)"),
        ({"q0": np.zeros((4, 2)), "v0": np.zeros((5, 2))}, "q has 4, v has 5"),
        ({"torque": np.zeros(3)}, r"torque has shape \(3,\)"),
        ({"torque": np.zeros((4, 7, 2))}, "torque has 7 steps, but the rollout has 10"),
        ({"torque": [np.inf, 0.0]}, "torque of 'shoulder' is not finite"),
        ({"parameters": np.zeros(10)}, "parameters are given, but .* has no free bodies"),
        ({"wrenches": {"tool": np.zeros(6)}}, "wrenches are given on tool"),
        ({"prescribed": {"motor": np.sin}}, "has no prescribed motion 'motor'"),
        ({"output": 10}, "output is 10"),
        ({"start": np.inf}, "start is inf"),
        ({"wrenches": 3}, "wrenches is 3"),
    ],
    ids=str,
)
def test_invalid_arguments_of_a_call_are_named(arm, given, message):
    with pytest.raises(ArgumentError, match=message):
        arm(**({"steps": 10} | given))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rk5"}, "rollout has no method 'rk5'. Did you mean 'rk4'. It has: rk4, euler, midpoint, moreau"),
        ({"final_cost": 1.0}, "final_cost is 1.0"),
        (
            {"method": "moreau", "stops": 0.5, "contact_model": SpringContacts(stiffness=1e3)},
            "contact_model is SpringContacts, which does not belong to method 'moreau'",
        ),
        ({"stops": 0.5, "contact_model": ImpulseContacts(3)}, "ImpulseContacts, which does not belong to method 'rk4'"),
        (
            {"stops": 0.5, "contact_model": "springs"},
            "contact_model is 'springs', which does not belong to method 'rk4'",
        ),
        ({"contact_model": SpringContacts()}, "has no effect: there are no contacts, stops or dry friction"),
        ({"stops": 0.5, "contact_model": SpringContacts(stiffness=1e3)}, "stiffness of SpringContacts has no effect"),
    ],
)
def test_invalid_options_are_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        ap.rollout(ap.load("planar-2r"), steps=2, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ImpulseContacts(-3), "sweeps of ImpulseContacts is -3"),
        (lambda: SpringContacts(-1.0), "depth of SpringContacts is -1"),
        (lambda: SpringContacts(stiffness=0.0), "stiffness of SpringContacts is 0"),
        (lambda: Output(every=0), "every is 0"),
        (lambda: Output(dtype="int32"), "dtype is 'int32'"),
    ],
)
def test_invalid_option_objects_are_named(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_an_unknown_argument_of_a_gradient_is_named_with_the_method(arm):
    with pytest.raises(TypeError, match=r"Rollout\.gradient\(\) got an unexpected keyword argument 'wrench'"):
        arm.gradient(wrench=3)


def test_an_argument_that_is_not_a_system_is_refused():
    with pytest.raises(ArgumentError, match="the system of rollout is 'puma'"):
        ap.rollout("puma")


def test_a_free_body_needs_its_parameters():
    with pytest.raises(ArgumentError, match="no parameters are given for the free bodies"):
        ap.rollout(ap.load("planar-2r").with_free(), steps=2)


def test_an_open_loop_is_named_with_its_member_or_closed_on_request():
    dyn = ap.Dynamics(ap.load("four-bar"))
    q0 = np.tile(dyn.system.start, (3, 1))
    q0[1, 0] += 0.05
    plan = Rollout(dyn)
    with pytest.raises(ArgumentError, match=r"q0 of member 1 of .* leaves constraint '.*' open by"):
        plan(q0, None, None, 5, 1e-3)
    assert np.abs(dyn.gap(plan(q0, None, None, 5, 1e-3, project=True).q)).max() < 1e-12


def test_moreau_does_not_support_prescribed_motions():
    tree = ap.load("planar-2r")
    robot = tree.with_loops(ap.Prescribed(ap.Gear({tree.velocity_names[0]: 1.0}, name="motor")))
    with pytest.raises(ArgumentError, match="'moreau' does not support prescribed motions"):
        ap.rollout(robot, method="moreau")


# ---- members that diverge


def test_a_start_that_is_not_finite_marks_its_member_and_no_other(arm, starts):
    broken = starts.copy()
    broken[3, 1], broken[7, 0] = np.nan, np.inf
    records, complete = arm(broken, steps=20), arm(starts, steps=20)
    assert records.lost.tolist() == [3, 7]
    assert np.isnan(records.lasted[[3, 7]]).all()
    others = np.setdiff1d(np.arange(len(starts)), [3, 7])
    assert np.array_equal(records.q[others], complete.q[others])
    assert records[3].status == "LOST"
    assert records[2].finished


def test_a_motion_that_diverges_is_marked_from_there_on():
    """v̇ grows like v³ for members that are pushed, which ends in finite time."""
    dyn = ap.Dynamics(ap.load("planar-2r").with_gravity((0.0, 0.0, 0.0)))

    def law(t, q, v):
        return [50.0 * x * x * x for x in v]

    v0 = np.zeros((4, 2))
    v0[2] = 5.0
    records = ap.rollout(dyn, None, v0, steps=300, dt=1e-3, law=law, check=False)
    assert records.lost.tolist() == [2]
    assert 0.0 < records.lasted[2] < 0.3
    row = round(records.lasted[2] / 1e-3)
    assert np.isfinite(records.q[2, row]).all()
    assert not np.isfinite(np.append(records.q[2, row + 1], records.v[2, row + 1])).all()
    assert "after t = " in records[2].message


def test_a_zero_quaternion_marks_its_member_as_diverged():
    q0 = np.tile(box().start, (2, 1))
    q0[1, 3:] = 0.0
    assert ap.rollout(box(), q0, steps=3).lost.tolist() == [1]


# ---- pieces, threads, precision


def test_pieces_threads_and_batches_give_the_same_bits(arm, starts, monkeypatch):
    complete = arm(starts, steps=60, output=ap.simulation.Output(every=5))
    monkeypatch.setattr(results, "CALL_DURATION_S", 1e-9)
    monkeypatch.setattr(results, "FIRST_CALL_STEPS", 1)
    pieces = arm(starts, steps=60, output=ap.simulation.Output(every=5))
    assert np.array_equal(complete.q, pieces.q)
    assert np.array_equal(complete.v, arm(starts, steps=60, output=ap.simulation.Output(every=5), threads=2).v)
    assert np.array_equal(complete.q[40:43], arm(starts[40:43], steps=60, output=ap.simulation.Output(every=5)).q)


def test_single_precision_is_used_for_computation_and_results(arm, starts):
    records, exact = arm(starts, steps=50, output=ap.simulation.Output(dtype="float32")), arm(starts, steps=50)
    assert records.q.dtype == np.float32
    assert 0.0 < np.abs(records.q - exact.q).max() < 1e-4


def test_a_plan_is_called_again_with_other_steps(arm, starts):
    first, second = arm(starts, steps=4, dt=2e-3), arm(starts, steps=8, dt=1e-3)
    assert np.abs(first.q[:, -1] - second.q[:, -1]).max() < 1e-9
    assert repr(arm) == "<Rollout of robot 'planar-2r' by rk4>"


def test_energy_is_stored_on_request(arm, starts):
    records = arm(starts, 0.1 * starts, steps=5, output=ap.simulation.Output(energy=True))
    assert np.array_equal(records.energy, np.add(*arm.dyn.energy(records.q, records.v)))
    assert "energy" not in arm(starts, steps=5)


def test_ctrl_c_keeps_the_rows_computed_so_far(arm, starts, monkeypatch):
    monkeypatch.setattr(results, "FIRST_CALL_STEPS", 1)
    monkeypatch.setattr(results, "CALL_DURATION_S", 1e-9)
    call, calls = type(arm.scan).__call__, []

    def interrupted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 3:  # after two rows
            raise KeyboardInterrupt
        return call(self, *arguments, **options)

    monkeypatch.setattr(type(arm.scan), "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        arm(starts, steps=10, check=False)
    assert caught.value.records.q.shape == (101, 3, 2)
    assert "3 rows were computed" in caught.value.__notes__[0]
    assert np.array_equal(caught.value.records.tau[:, 0], caught.value.records.tau[:, 1])


def test_a_repeated_rollout_traces_nothing_and_costs_no_second_check(starts, monkeypatch):
    robot = ap.load("planar-2r")
    first = ap.rollout(robot, starts, steps=4)
    monkeypatch.setattr(ap.simulation.rollouts.plan, "Rollout", None)
    monkeypatch.setattr(ap.simulation.rollouts.plan, "check_damping", None)
    assert np.array_equal(ap.rollout(robot, starts, steps=4).q, first.q)


def test_a_law_is_traced_again_in_every_call(starts):
    robot, gain = ap.load("planar-2r"), [1.0]

    def law(t, q, v):
        return [-gain[0] * x for x in v]

    first = ap.rollout(robot, starts, 0.1 * starts, steps=4, law=law)
    gain[0] = 5.0
    assert not np.array_equal(ap.rollout(robot, starts, 0.1 * starts, steps=4, law=law).v, first.v)


def test_a_rollout_reports_its_progress(arm, starts, monkeypatch):
    monkeypatch.setattr(results, "FIRST_CALL_STEPS", 1)
    reports = []
    monkeypatch.setattr(Bar, "__call__", lambda self, t: reports.append((self.label, self.total, t)))
    arm(starts, steps=10, dt=0.1, check=False)
    assert {(label, until) for label, until, _ in reports} == {("rollout", 1.0)}
    times = [t for *_, t in reports]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(1.0)


def falling(t, q, v):
    return [-x for x in v]


@pytest.mark.parametrize(
    "options",
    [{"law": falling}, {"contacts": ap.Contact("all", ap.Plane((0.0, 1.0, 0.0), -5.0), restitution=1.0, friction=0.0)}],
    ids=["law", "walls"],
)
def test_a_plan_pickles_as_its_arguments(starts, options):
    plan = Rollout(ap.load("planar-2r"), **options)
    again = pickle.loads(pickle.dumps(plan))
    assert np.array_equal(again(starts, steps=5).q, plan(starts, steps=5).q)


def test_long_trees_run_as_loops_over_their_links():
    chain = random_chain(3, 20)
    loops, straight = (ap.rollout(ap.Dynamics(chain, looped=looped), steps=10) for looped in (True, False))
    assert np.abs(loops.q - straight.q).max() < 1e-12 * np.abs(straight.q).max()
    assert np.abs(straight.v).max() > 1e-3


def test_records_are_pickled_without_their_dynamics(arm, starts):
    records = arm(starts, steps=3)
    again = pickle.loads(pickle.dumps(records))
    assert np.array_equal(again.q, records.q)
    assert again.dynamics is None
