"""Joints with dry friction that stick and slip, against closed forms and piecewise integration by SciPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell as ap

G = 9.81


def block(mass=2.0, **friction):
    builder = ap.Builder("block", root=None)
    actuator = ap.Actuator(friction=ap.Friction(**friction))
    builder.link("block", ap.Prismatic((1, 0, 0)), mass=mass, inertia=(0.1, 0.1, 0.1), actuator=actuator)
    return builder.build()


def pendulum(**friction):
    builder = ap.Builder("pendulum", root=None)
    actuator = ap.Actuator(friction=ap.Friction(**friction))
    builder.link("rod", ap.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01), actuator=actuator)
    return builder.build()


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"])
def test_a_block_on_a_spring_loses_2_f_over_k_per_half_swing_and_stops_exactly(method):
    mass, k, F, start = 2.0, 50.0, 1.0, 0.31
    exact = method in ("DOP853", "RK45")
    solver = ap.Solver(method) if exact else ap.Solver(method, rtol=1e-6, atol=1e-9)
    dyn = ap.Dynamics(block(mass, coulomb=F), friction=True)
    motion = ap.simulate(dyn, [start], until=8.0, torque=lambda t, q, v: -k * q, solver=solver)
    assert motion.finished
    close, half = 1e-8 if exact else 1e-4, np.pi * np.sqrt(mass / k)
    swings = 8
    assert [(event.kind, event.points) for event in motion.events] == [("stick", ("block_joint",))]
    assert motion.events[0].time == pytest.approx(swings * half, abs=close)
    for n in range(1, swings):  # turning points between: amplitudes fall by 2 F / k
        assert motion(n * half)[0][0] == pytest.approx((-1) ** n * (start - 2 * n * F / k), abs=close)
    assert motion.q[-1, 0] == pytest.approx(start - 2 * swings * F / k, abs=close)
    assert motion.v[-1, 0] == 0.0
    assert np.diff(motion.energy + 0.5 * k * motion.q[:, 0] ** 2).max() < 1e-12 if exact else True
    assert np.ptp(motion.q[motion.t > motion.events[0].time]) == 0.0


def swings_by_pieces(torque, inertia, level, q, until, viscous=0.0):
    """One joint by SciPy: I q̈ = τ(t, q) - viscous q̇ - s F(q̇), piece by piece; returns (times and kinds), final q."""
    t, v, expected = 0.0, 0.0, []
    options = {"rtol": 1e-12, "atol": 1e-13, "method": "DOP853"}
    while t < until:
        if abs(torque(t, q)) <= level(0.0):  # held until the load is too much

            def overload(x, _, q=q):
                return abs(torque(x, q)) - level(0.0)

            overload.terminal, overload.direction = True, 1
            solution = solve_ivp(lambda x, y: [0.0], (t, until), [0.0], events=overload, max_step=0.01, **options)
            t = solution.t[-1]
            if t >= until:
                break
            expected.append((t, "slip"))
        s = np.sign(torque(t, q))

        def halt(x, y, s=s, began=t):
            return s * y[1] + (1.0 if x - began < 1e-9 else 0.0)

        halt.terminal, halt.direction = True, -1

        def rate(x, y, s=s):
            return [y[1], (torque(x, y[0]) - viscous * y[1] - s * level(y[1])) / inertia]

        solution = solve_ivp(rate, (t, until), [q, v], events=halt, **options)
        t, q, v = solution.t[-1], solution.y[0, -1], 0.0
        if t < until and abs(torque(t, q)) <= level(0.0):
            expected.append((t, "stick"))
    return expected, q


def compare(motion, expected, q, close=1e-6):
    events = [event for event in motion.events if event.time > 0.0]
    assert [event.kind for event in events] == [kind for _, kind in expected]
    np.testing.assert_allclose([event.time for event in events], [t for t, _ in expected], atol=close)
    assert motion.q[-1, 0] == pytest.approx(q, abs=close)


def test_a_pendulum_with_stribeck_and_viscous_friction_swings_out_and_hangs_still():
    friction = {"coulomb": 0.2, "static": 0.35, "stribeck": 0.1, "viscous": 0.05}
    robot = pendulum(**friction)
    motion = ap.simulate(ap.Dynamics(robot, friction=True), [1.2], until=12.0, solver=ap.Solver(rtol=1e-10, atol=1e-12))
    level = ap.Friction(**friction).level
    expected, q = swings_by_pieces(lambda t, x: -0.5 * G * np.sin(x), 0.35, level, 1.2, 12.0, 0.05)
    assert expected[-1][1] == "stick"
    compare(motion, expected, q)
    assert motion.v[-1, 0] == 0.0
    assert np.diff(motion.energy).max() <= 1e-12


@pytest.mark.parametrize("friction", [{"coulomb": 0.5, "static": 0.8, "stribeck": 0.02}, {"coulomb": 0.5}])
def test_a_block_on_a_belt_sticks_and_slips_for_ever(friction):
    """The coordinate is the block's position on the belt, which carries it away from a spring at constant speed."""
    mass, k, belt = 1.0, 40.0, 0.1

    def spring(t, x):
        return -k * (x + belt * t)

    dyn = ap.Dynamics(block(mass, **friction), friction=True)
    motion = ap.simulate(
        dyn, [0.0], until=3.0, torque=lambda t, q, v: spring(t, q), solver=ap.Solver(rtol=1e-10, atol=1e-12)
    )
    expected, q = swings_by_pieces(spring, mass, ap.Friction(**friction).level, 0.0, 3.0)
    compare(motion, expected, q)
    if "static" in friction:
        assert [kind for _, kind in expected[:4]] == ["slip", "stick"] * 2  # the cycle
        assert expected[0][0] == pytest.approx(0.8 / (k * belt), abs=1e-8)
        periods = np.diff([t for t, kind in expected if kind == "slip"])
        assert np.ptp(periods) < 1e-8


def test_a_joint_breaks_away_when_a_torque_of_time_exceeds_friction_at_rest_and_not_before():
    dyn = ap.Dynamics(block(coulomb=1.0, static=1.5), friction=True)
    ramp = ap.simulate(dyn, until=10.0, torque=lambda t, q, v: [0.2 * t])
    assert [event.kind for event in ramp.events] == ["stick", "slip"]
    assert ramp.events[1].time == pytest.approx(7.5, abs=1e-8)
    quiet = ap.simulate(dyn, until=100.0, torque=lambda t, q, v: [1.499 * np.sin(7.0 * t)])
    assert [event.kind for event in quiet.events] == ["stick"]
    assert np.ptp(quiet.q) == 0.0
    loud = ap.simulate(dyn, until=10.0, torque=lambda t, q, v: [1.501 * np.sin(0.5 * t)])
    assert loud.events[1].time == pytest.approx(2.0 * np.arcsin(1.5 / 1.501), abs=1e-6)


def test_a_state_at_rest_takes_few_steps_and_does_not_drift():
    motion = ap.simulate(ap.Dynamics(pendulum(coulomb=5.0), friction=True), [1.0], until=1e6)
    assert motion.finished
    assert len(motion.t) < 10
    assert np.ptp(motion.q) == 0.0


def test_friction_exerts_no_impulse_so_that_an_impact_sets_a_stuck_joint_in_motion():
    """Two blocks in a row: the first is stuck to the ground; the second slides on it without friction into a wall."""
    builder = ap.Builder("train", root=None)
    held = ap.Actuator(friction=ap.Friction(coulomb=100.0))
    builder.link("cart", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1), actuator=held)
    builder.link("rod", ap.Revolute((0, 1, 0)), parent="cart", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    builder.frame("tip", on="rod", xyz=(0, 0, -1.0))
    robot = builder.build()
    contact = ap.Contact("tip", ap.Plane((-1, 0, 0), -0.2), restitution=0.5, friction=0.0)
    dyn = ap.Dynamics(robot, friction=True)
    motion = ap.simulate(dyn, [0.0, 0.5], until=2.0, contacts=contact)
    kinds = [event.kind for event in motion.events[:4]]
    assert kinds == ["stick", "impact", "slip", "stick"]
    hit, slip = motion.events[1], motion.events[2]
    assert slip.time == hit.time
    assert slip.points == ("cart_joint",)
    M = dyn.mass_matrix(motion(hit.time)[0])
    J = np.array([-1.0, 1.0 * np.cos(motion(hit.time)[0][1])])
    np.testing.assert_allclose(M @ (hit.v_after - hit.v_before), J * hit.impulses[0], atol=1e-9)
    assert (np.diff(motion.energy) <= 1e-9).all()


def test_a_mimic_joint_sticks_with_its_leader_up_to_the_sum_of_their_friction():
    builder = ap.Builder("pair", root=None)
    first, second = (ap.Actuator(friction=ap.Friction(coulomb=F)) for F in (1.0, 3.0))
    builder.link("a", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1), actuator=first)
    builder.link(
        "b",
        ap.Prismatic((1, 0, 0)),
        mass=1.0,
        inertia=(1, 1, 1),
        actuator=second,
        mimic=ap.Mimic("a_joint", multiplier=-0.5),
    )
    dyn = ap.Dynamics(builder.build(), friction=True)
    motion = ap.simulate(dyn, until=4.0, torque=lambda t, q, v: [t])
    assert [event.kind for event in motion.events] == ["stick", "slip"]
    assert motion.events[1].points == ("a_joint", "b_joint")
    assert motion.events[1].time == pytest.approx(1.0 + 0.5 * 3.0, abs=1e-5)


def several_by_pieces(dyn, level, viscous, q, until):
    """Any number of joints by SciPy, with M and h without friction: (times, kinds and joints), final q.

    Of the joints at rest, those stick for which the forces needed are below the level; the set is found by trial.
    """
    n, t, v, expected = len(q), 0.0, np.zeros(len(q)), []
    s, slipping = np.full(n, np.nan), {}  # directions are still undetermined

    def accelerations(q, v, s):
        M, load = dyn.mass_matrix(q), -dyn.bias(q, v) - viscous * v - s * level
        a, free = np.zeros(n), s != 0.0
        a[free] = np.linalg.solve(M[np.ix_(free, free)], load[free])
        return a, load - M @ a

    def fits(s, still):
        a, force = accelerations(q, v, s)
        held = all(abs(force[k]) <= level for k in still if s[k] == 0.0)
        return held and all(s[k] * a[k] > 0.0 for k in still if s[k] != 0.0 and k not in slipping)

    def watched(s):
        def halt(k):
            return lambda x, y: s[k] * y[n + k] + (1.0 if x - began < 1e-9 else 0.0)

        def overload(k):
            return lambda x, y: level - abs(accelerations(y[:n], y[n:], s)[1][k])

        made = [halt(k) if s[k] else overload(k) for k in range(n)]
        for event in made:
            event.terminal, event.direction = True, -1
        return made

    while t < until:
        still, before = np.flatnonzero(np.abs(v) < 1e-9), s
        s = np.sign(v)
        for choice in product((0.0, 1.0, -1.0), repeat=len(still)):
            s[still] = choice
            if all(s[k] == sign for k, sign in slipping.items()) and fits(s, still):
                break
        else:
            raise AssertionError(f"nothing fits at t = {t}")
        v[s == 0.0] = 0.0
        expected += [(t, "stick", k) for k in range(n) if s[k] == 0.0 and before[k] != 0.0]
        expected += [(t, "slip", k) for k in range(n) if s[k] != 0.0 and before[k] == 0.0]
        began = t

        def rate(x, y, s=s):
            return np.concatenate([y[n:], accelerations(y[:n], y[n:], s)[0]])

        solution = solve_ivp(
            rate, (t, until), np.concatenate([q, v]), "DOP853", events=watched(s), rtol=1e-12, atol=1e-13, max_step=0.1
        )
        t, q, v = solution.t[-1], solution.y[:n, -1].copy(), solution.y[n:, -1].copy()
        if t < until:
            k = next(k for k in range(n) if len(solution.t_events[k]))
            v[k], slipping = 0.0, {}
            if s[k] == 0.0:
                slipping = {k: np.sign(accelerations(q, v, s)[1][k])}
    return expected, q


UR5 = """
<robot name="ur5">
  <link name="base"/>
  {links}
</robot>
"""


def ur5_with_friction():
    """A URDF with the masses and lengths of a UR5, every joint with damping and dry friction."""
    rows = (  # joint, axis, origin on the parent, mass, centre of mass, moments of inertia
        ("shoulder_pan", "0 0 1", "0 0 0.089159", 3.7, "0 0 0", (0.010267, 0.010267, 0.00666)),
        ("shoulder_lift", "0 1 0", "0 0.13585 0", 8.393, "0 0 0.28", (0.22689, 0.22689, 0.0151074)),
        ("elbow", "0 1 0", "0 -0.1197 0.425", 2.275, "0 0 0.25", (0.049443, 0.049443, 0.004095)),
        ("wrist_1", "0 1 0", "0 0 0.39225", 1.219, "0 0 0", (0.111172, 0.111172, 0.21942)),
        ("wrist_2", "0 0 1", "0 0.093 0", 1.219, "0 0 0", (0.111172, 0.111172, 0.21942)),
        ("wrist_3", "0 1 0", "0 0 0.09465", 0.1879, "0 0.06 0", (0.0171364, 0.0171364, 0.033822)),
    )
    parent, text = "base", ""
    for name, axis, origin, mass, com, (xx, yy, zz) in rows:
        text += f"""
  <link name="{name}_link"><inertial><origin xyz="{com}"/><mass value="{mass}"/>
    <inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/><origin xyz="{origin}"/>
    <axis xyz="{axis}"/><limit lower="-6.3" upper="6.3" effort="150" velocity="3"/>
    <dynamics damping="0.5" friction="2"/></joint>"""
        parent = f"{name}_link"
    return UR5.format(links=text)


def test_a_ur5_with_friction_swings_slows_down_and_hangs_still(tmp_path):
    path = tmp_path / "ur5.urdf"
    path.write_text(ur5_with_friction())
    robot = ap.load(path)
    start, until = [0.3, -0.9, 0.7, 0.2, 0.1, 0.0], 25.0
    motion = ap.simulate(
        ap.Dynamics(robot, friction=True), start, until=until, solver=ap.Solver(rtol=1e-10, atol=1e-12)
    )
    assert motion.finished
    assert (motion.v[-1] == 0.0).all()
    assert np.diff(motion.energy).max() <= 1e-12 * np.abs(motion.energy).max()
    last = motion.events[-1]
    assert last.kind == "stick"
    assert np.ptp(motion.q[motion.t >= last.time + 1e-9], axis=0).max() == 0.0
    expected, q = several_by_pieces(ap.Dynamics(robot), 2.0, 0.5, np.array(start), until)
    observed = [(event.time, event.kind, name) for event in motion.events for name in event.points]
    assert [x[1:] for x in observed] == [(kind, robot.joint_names[k]) for _, kind, k in expected]
    np.testing.assert_allclose([x[0] for x in observed], [x[0] for x in expected], atol=1e-6)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-6)


def test_the_drives_of_a_mechanism_stick():
    actuator = ap.Actuator(friction=ap.Friction(viscous=0.02, coulomb=0.3))
    mechanism = ap.load("five-bar").with_gravity((0, 0, 0)).with_actuators(lambda name, _: actuator)
    dyn = ap.Dynamics(mechanism, friction=True)
    motion = ap.simulate(dyn, v0=[0.4, 0.2], until=3.0)
    assert motion.finished
    assert [event.kind for event in motion.events][-1] == "stick"
    assert {name for event in motion.events for name in event.points} == set(mechanism.actuator_names)
    assert (motion.v[-1] == 0.0).all()
    assert np.diff(motion.energy).max() <= 1e-9
    for event in motion.events:  # a drive that sticks has come to rest, for any coupling of the coordinates
        k = mechanism.actuator_names.index(event.points[0])
        assert abs((dyn.actuator_jacobian(motion(event.time)[0]) @ event.v_after)[k]) < 1e-9
