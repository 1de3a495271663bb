"""Laws in the kernel give the results of the same laws elsewhere; tracing errors name the line and the reason."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import appell as ap
from appell.control import Controller, Design, critical, linearize, lqr
from appell.control.directions import deviation
from appell.control.rollout_laws import deviations
from appell.errors import ArgumentError, StepWarning, TraceError
from appell.hardware import Reference
from appell.simulation import Feedback, Rollout
from free_bodies import box
from robots import random_tree

KP, KD = 300.0, 40.0
AIM = (0.4, -0.6, 0.5, 0.2, 0.3, -0.4)


@pytest.fixture(scope="module")
def puma() -> ap.Dynamics:
    return ap.Dynamics(ap.load("puma"))


def spring(t, q, v):
    """A spring to AIM with damping, and a push that comes and goes."""
    tau = [KP * (aim - x) - KD * rate for aim, x, rate in zip(AIM, q, v, strict=True)]
    tau[0] = tau[0] + 5.0 * ap.sin(8.0 * t)
    return tau


def test_a_continuous_law_gives_the_motion_of_simulate(puma):
    robot = ap.Dynamics(ap.load("puma"), rotors=True)
    exact = ap.simulate(
        robot, until=0.2, torque=lambda t, q, v: np.array(spring(t, q, v)), solver=ap.Solver(rtol=1e-11, atol=1e-12)
    )
    records = ap.rollout(robot, steps=2000, dt=1e-4, law=spring)
    assert np.abs(records.q[0, -1] - exact.q[-1]).max() < 1e-9
    assert records.tau[0, 0] == pytest.approx(spring(0.0, robot.system.start, np.zeros(6)), rel=1e-14)


def remembering(t, q, v, memory):
    """An integral of the error, and a torque of the last one."""
    grown = [x + 1e-3 * (aim - y) for x, aim, y in zip(memory, AIM, q, strict=True)]
    tau = [30.0 * (aim - y) - 5.0 * rate + 20.0 * x for aim, y, rate, x in zip(AIM, q, v, grown, strict=True)]
    return tau, grown


@pytest.mark.parametrize("period", [None, 3e-3], ids=["every step", "every third step"])
def test_a_law_with_memory_agrees_with_a_loop_in_python(puma, period):
    dt, steps, held = 1e-3, 30, round((period or 1e-3) / 1e-3)
    records = ap.rollout(
        puma, steps=steps, dt=dt, law=Feedback(remembering, memory=np.zeros(6), period=period), check=False
    )
    plan = Rollout(puma)
    q, v, memory, tau = puma.system.start, np.zeros(6), [0.0] * 6, None
    for k in range(steps):
        if k % held == 0:
            tau, memory = remembering(k * dt, q.tolist(), v.tolist(), memory)
        one = plan(q, v, tau, steps=1, dt=dt, check=False)
        q, v = one.q[0, -1], one.v[0, -1]
        # the kernel fuses multiplications with additions, Python does not
        assert np.abs(records.q[0, k + 1] - q).max() < 1e-12
        assert np.abs(records["memory"][0, k + 1] - memory).max() < 1e-14
        assert np.abs(records.tau[0, k + 1] - tau).max() < 1e-10


def test_an_object_defines_its_initial_memory_and_members_may_differ(puma):
    class Counter:
        start = (1.0,)

        def __call__(self, t, q, v, memory):
            return [0.0] * 6, [2.0 * memory[0]]

    assert ap.rollout(puma, law=Counter(), steps=4)["memory"][0, :, 0].tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]
    records = ap.rollout(puma, law=Feedback(Counter(), memory=[[1.0], [3.0]]), steps=2)
    assert records["memory"][:, -1, 0].tolist() == [4.0, 12.0]


def test_torques_are_added_to_those_of_a_law_and_the_sum_is_clipped():
    robot = ap.load("puma").with_actuators(lambda name, actuator: ap.Actuator(torque=10.0))
    dyn, push = ap.Dynamics(robot), np.array([3.0, 0.0, 0.0, 0.0, 0.0, 4.0])
    law = lambda t, q, v: [1.0, 50.0, -50.0, 0.0, 0.0, 7.0]  # noqa: E731
    records = ap.rollout(dyn, None, None, push, steps=2, law=law, saturate=True)
    assert records.tau[0, -1].tolist() == [4.0, 10.0, -10.0, 0.0, 0.0, 10.0]
    assert ap.rollout(dyn, None, None, push, steps=2, law=law).tau[0, -1].tolist() == [4.0, 50.0, -50.0, 0.0, 0.0, 11.0]


@pytest.mark.parametrize("name", ["tracking", "tracking-integral", "pd-gravity", "pid"])
def test_a_design_in_a_kernel_agrees_with_its_controller(name):
    robot, period, dt = ap.load("planar-2r"), 2e-3, 1e-3
    gains = critical(20.0, period, integral="integral" in name) if "track" in name else ap.control.Gains(80.0, 8.0, 0)
    if name == "pid":
        gains = ap.control.Gains(80.0, 8.0, 5.0)
    design = Design(robot, gains, name, period=period)
    path = ap.motion.Spline([0.0, 0.05, 0.1], [robot.start, robot.start + 0.1, robot.start])
    dyn = ap.Dynamics(robot, friction=True, rotors=True)
    records = ap.rollout(dyn, law=design, reference=path, steps=100, dt=dt)
    plan, controller, ticks = Rollout(dyn), Controller(design), Reference.sampled(path, period)
    q, v = robot.start, np.zeros(2)
    for k in range(50):
        assert np.abs(records.q[0, 2 * k] - q).max() < 1e-13
        tau = controller(q, v, ticks.samples[k]).copy()
        assert np.abs(records.tau[0, 2 * k + 1 : 2 * k + 3] - tau).max() < 1e-10 * max(1.0, np.abs(tau).max())
        two = plan(q, v, tau, steps=2, dt=dt, check=False)
        q, v = two.q[0, -1], two.v[0, -1]
    if design.law.model == "motion":
        assert np.abs(records.q[0] - path(records.t)[0]).max() < 2e-3


def test_a_regulator_in_a_kernel_agrees_with_simulate():
    robot = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
    up = np.array([np.pi / 2, 0.0])
    regulator = lqr(linearize(robot, up, np.zeros(2)), np.ones(4))
    dyn, start = ap.Dynamics(robot, friction=True, rotors=True), up + np.array([0.05, -0.1])
    exact = ap.simulate(dyn, start, until=0.5, torque=regulator, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    records = ap.rollout(dyn, start, law=regulator, steps=2000, dt=2.5e-4)
    assert np.abs(records.q[0, -1] - exact.q[-1]).max() < 1e-9
    assert np.abs(records.q[0, -1] - up).max() < np.abs(start - up).max()


def test_a_regulator_rotates_a_floating_body_back():
    """It feeds the turn of a floating base back, over a large angle, and leaves its place alone."""
    robot = box(gravity=(0.0, 0.0, 0.0))
    linear = linearize(robot, robot.start, np.zeros(6))
    law = lqr(linear, {name: 1.0 for name in linear.states if name[-2:] in ("wx", "wy", "wz")}, 0.1)
    start, v0 = robot.integrate(robot.start, [0.3, 0.0, 0.0, 1.0, -0.8, 1.2]), np.array([0.1, 0.0, 0.2, 1.0, 0.5, -0.7])
    dyn = ap.Dynamics(robot, friction=True, rotors=True)
    exact = ap.simulate(dyn, start, v0, 0.5, torque=law, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    records = ap.rollout(dyn, start, v0, steps=500, dt=1e-3, law=law)
    assert np.abs(records.q[0, -1] - exact.q[-1]).max() < 1e-9
    assert np.abs(records.tau[0, 0] - law(0.0, start, v0)).max() < 1e-13 * np.abs(records.tau).max()


@pytest.mark.parametrize("kind", ["spherical", "planar", "floating"])
def test_a_kernel_measures_deviations_as_the_controller_does(kind):
    robot, rng = random_tree(4, 3, base=kind, kinds=("revolute", "spherical")), np.random.default_rng(0)
    for _ in range(20):
        q0, w, t = robot.random_configuration(rng), rng.normal(size=robot.nv), float(rng.uniform(0.0, 2.0))
        q = robot.integrate(robot.integrate(q0, t * w), rng.normal(size=robot.nv))
        wanted, known = deviation(robot, q0, w, t, q), deviations(robot, q0.tolist(), w.tolist())
        assert len(known) == robot.nv - {"spherical": 0, "planar": 2, "floating": 3}[kind]
        for k, measure in known.items():
            assert abs(measure(t, q.tolist()) - wanted[k]) < 1e-13


def test_a_regulator_of_the_position_of_a_floating_base_is_refused_by_name():
    robot = box().with_gravity((0.0, 0.0, 0.0))
    law = lqr(linearize(robot, robot.start, np.zeros(6)), np.ones(12))
    with pytest.raises(ArgumentError, match=r"feeds back '.*vx', a translation of a joint with several axes"):
        ap.rollout(robot, law=law)


# ---- laws that cannot be traced


def branches(t, q, v):
    if q[0] > 0.0:
        return [0.0] * 6
    return [1.0] * 6


def leaves_the_trace(t, q, v):
    scaled = [2.0 * x for x in q]
    return [math.exp(x) for x in scaled]


def lacks_a_name(t, q, v):
    return [undefined_gain * x for x in q]  # noqa: F821


@pytest.mark.parametrize(
    ("law", "line", "why"),
    [
        (branches, "if q[0] > 0.0:", "the value of a traced scalar is needed"),
        (leaves_the_trace, "return [math.exp(x) for x in scaled]", "the value of a traced scalar is needed"),
        (lacks_a_name, "return [undefined_gain * x for x in q]", "name 'undefined_gain' is not defined"),
    ],
)
@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_a_law_that_cannot_be_traced_is_refused_with_its_line_and_the_reason(puma, law, line, why, method):
    with pytest.raises(TraceError) as caught:
        ap.rollout(puma, law=law, method=method)
    text = str(caught.value)
    assert f"law '{law.__name__}' cannot be traced. Line " in text
    assert "of test_rollout_laws.py" in text
    assert line in text
    assert why in text


def test_a_cost_that_cannot_be_traced_is_refused_with_its_line(puma):
    with pytest.raises(TraceError, match=r"cost '<lambda>' cannot be traced. Line .*max\(q\)"):
        ap.rollout(puma, cost=lambda t, q, v, tau: max(q))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"law": lambda t, q, v: None}, "law '<lambda>' returned None"),
        ({"law": lambda t, q, v: q[:5]}, r"law '<lambda>' returned shape \(5,\)"),
        ({"law": lambda t, q, v: ["a"] * 6}, "law '<lambda>' returned 'a'"),
        ({"law": lambda q, v: q}, "law '<lambda>' takes 2 arguments"),
        ({"law": lambda t, q, v, m: q}, "has a memory without an initial value"),
        ({"law": Feedback(lambda t, q, v, m: q, [0.0])}, r"expected  \(tau, memory\)"),
        ({"law": Feedback(lambda t, q, v, m: (q, m), 1.0)}, "the memory of the law is 1.0"),
        ({"law": Feedback(lambda t, q, v: q, [0.0])}, "does not take it"),
        ({"law": lambda t, q, v: q, "reference": [0.0]}, "reference is given, but the law is a function"),
        ({"law": Feedback(lambda t, q, v: q, period=1.5e-3)}, "1.5 steps of 0.001 s"),
        ({"law": 3.0}, "law is 3.0"),
        ({"reference": [0.0]}, "reference is given without a law"),
        ({"cost": 3.0}, "cost is 3.0"),
        ({"cost": lambda t, q, v, tau: q}, r"cost '<lambda>' returned <array of traced"),
    ],
)
def test_invalid_laws_and_costs_are_named(puma, options, message):
    with pytest.raises((ArgumentError, TraceError), match=message):
        ap.rollout(puma, steps=3, **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": 3.0}, "law of a Feedback is 3.0"),
        ({"function": len, "period": -1.0}, "the period of the law is -1.0"),
    ],
)
def test_invalid_arguments_of_a_feedback_are_named(given, message):
    with pytest.raises(ArgumentError, match=message):
        Feedback(**given)


def test_a_design_is_refused_as_a_feedback():
    design = Design(ap.load("planar-2r"), critical(20.0, 1e-3), "tracking")
    with pytest.raises(ArgumentError, match=r"law of a Feedback is Design"):
        Feedback(design)


def test_a_design_needs_a_reference_of_its_size():
    design = Design(ap.load("planar-2r"), critical(20.0, 1e-3), "tracking")
    with pytest.raises(ArgumentError, match="no reference is given for law 'tracking'"):
        ap.rollout(ap.load("planar-2r"), law=design)
    with pytest.raises(ArgumentError, match="the reference has 3 coordinates"):
        ap.rollout(ap.load("planar-2r"), law=design, reference=ap.motion.Spline([0.0, 1.0], np.zeros((2, 3))))


# ---- damping


@pytest.mark.parametrize(("method", "most"), [("rk4", 2.785), ("euler", 2.0)])
def test_damping_that_a_step_cannot_follow_is_warned_of(method, most):
    """A pendulum without gravity and with a damper decays with kd / I: beyond the limit numbers do grow."""
    dyn = ap.Dynamics(ap.load("pendulum").with_gravity((0.0, 0.0, 0.0)))
    inertia, dt = float(dyn.mass_matrix([0.0])[0, 0]), 1e-2
    for share, grows in ((0.98, False), (1.02, True)):
        kd = share * most / dt * inertia
        law = lambda t, q, v: [-kd * v[0]]  # noqa: B023, E731
        if grows:
            with pytest.warns(StepWarning, match="damping is too strong for the step"):
                records = ap.rollout(dyn, None, [1.0], steps=200, dt=dt, law=law, method=method)
        else:
            records = ap.rollout(dyn, None, [1.0], steps=200, dt=dt, law=law, method=method)
        assert (np.abs(records.v[0, -1, 0]) > 1.0) == grows


def test_a_midpoint_iteration_that_does_not_converge_is_warned_of():
    dyn = ap.Dynamics(ap.load("pendulum"))
    with pytest.warns(StepWarning, match="did not converge: .* in 1 of 2 members") as caught:
        ap.rollout(dyn, [[0.0], [2.0]], steps=4, dt=0.5, method="midpoint")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepWarning)
        ap.rollout(dyn, [[0.0], [2.0]], steps=40, dt=0.01, method="midpoint")
