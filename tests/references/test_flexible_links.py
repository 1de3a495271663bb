"""Flexible links compared with the reference numbers of flexible.json.

They come from characteristic equations, quadrature particles in 30 digits, rotating-beam series, chains of rigid
segments and Exudyn. Tolerances are those stated in the file.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import appell as ap
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell_lab.papers import flexible_links as paper
from flexible_robots import one_beam

CASES = {case["name"]: case for case in json.loads(Path(__file__).with_name("flexible.json").read_text())["cases"]}
UNIT = {"EI": 1.0, "mass_per_length": 1.0, "shapes": "polynomials"}


def relative(ours, theirs):
    return np.abs(np.asarray(ours) - theirs).max() / np.abs(theirs).max()


def clamped(robot, **motion):
    """Angular frequencies with the joint 'hinge' held, rad/s."""
    return 2.0 * np.pi * ap.frequencies(robot, held="hinge", **motion).hertz


def robot_of(case):
    links = []
    for k, data in enumerate(case["bodies"]):
        nodes = [
            ap.Node(
                f"n{i}",
                Vec3.of(node["f"][0]),
                tuple(map(Vec3.of, node["f"][1:])),
                tuple(map(Vec3.of, zip(*node["Theta"], strict=True))),
            )
            for i, node in enumerate(data["nodes"])
        ]
        body = ap.FlexibleBody.from_arrays(data["m"], data["h"], data["P"], data["K"], data["D"], nodes=nodes)
        parent, node = data["parent"]
        joint = ap.Joint(f"joint{k}", ap.Revolute((0, 0, 1)), Pose(data["R0"], data["x0"]))
        at = None if node is None else f"n{node}"
        links.append(ap.Link(f"link{k}", None if parent < 0 else f"link{parent}", joint, body, at=at))
    return ap.Robot(case["name"], tuple(links), gravity=case["gravity"])


@pytest.mark.parametrize("name", ["06_single_link", "07_two_link"])
@pytest.mark.parametrize("forward", ["ldl", "articulated-body"])
def test_planar_arms(name, forward):
    case = CASES[name]
    robot = robot_of(case)
    dyn = ap.Dynamics(robot, forward=forward)
    joints = [robot.velocity_names.index(actuator) for actuator in robot.actuator_names]
    for state in case["states"]:
        q, v, tau = state["q"], state["v"], np.array(state["tau"])[joints]
        assert relative(dyn.mass_matrix(q), state["M"]) <= case["tolerance"]
        assert relative(dyn.bias(q, v), state["bias"]) <= case["tolerance"]
        assert relative(dyn.forward_dynamics(q, v, tau), state["a"]) <= case["tolerance"]


def test_frequencies_of_the_two_link_arm():
    robot = robot_of(CASES["07_two_link"])
    for row in CASES["07_two_link"]["frequencies"]:
        q = robot.configuration({"joint1": row["q2"]})
        assert relative(ap.frequencies(robot, q, held=["joint0", "joint1"]).hertz, row["locked_Hz"]) < 1e-9
        np.testing.assert_allclose(ap.frequencies(robot, q).hertz[2:], row["free_Hz"][2:], rtol=1e-9)


def test_clamped_beam():
    case = CASES["01_clamped_free"]
    errors = clamped(one_beam(ap.shapes.beam(1.0, bending=(9, 0), **UNIT)))[:4] / case["omega"] - 1.0
    assert (np.abs(errors) <= case["tolerance"]).all()


def test_frequencies_converge_from_above_as_modes_are_added():
    exact = CASES["02_tip_mass"]["rows"][0]["omega"][:2]
    errors = []
    for number in (2, 3, 4, 5):
        loaded = one_beam(ap.shapes.beam(1.0, EI=1.0, mass_per_length=1.0, bending=(number, 0))).with_payload(
            1.0, "tip"
        )
        errors.append(clamped(loaded)[:2] / exact - 1.0)
    errors = np.array(errors)
    assert (errors > 0.0).all()
    assert (np.diff(errors, axis=0) < 0.0).all()


@pytest.mark.parametrize(
    "row", CASES["02_tip_mass"]["rows"], ids=lambda row: f"{row['mass_ratio']}-{row['inertia_ratio']}"
)
def test_beam_with_a_load_at_its_tip(row):
    """Modes that are computed with the load are exact; the load itself is a rigid child on the node."""
    mass, inertia = float(row["mass_ratio"]), float(row["inertia_ratio"])
    beam = ap.shapes.beam(1.0, EI=1.0, mass_per_length=1.0, bending=(4, 0), tip_load=(mass, inertia))
    load = ap.Body(mass, (0, 0, 0), (inertia,) * 3)
    robot = one_beam(beam).with_payload(load, "tip")
    assert robot.link_names == ("beam", "load1")
    np.testing.assert_allclose(clamped(robot), row["omega"], rtol=CASES["02_tip_mass"]["tolerance"])
    np.testing.assert_allclose(clamped(robot), row["omega"], rtol=1e-10)


@pytest.mark.parametrize("row", CASES["04_rotating_beam"]["rows"], ids=lambda row: f"{row['eta']}-{row['hub']}")
def test_rotating_beam(row):
    """Linear tolerances of the file; at 10 times the first frequency the eight shapes bound the error: 5e-8."""
    for k, (kind, bending) in enumerate({"flap": (0, 8), "lag": (8, 0)}.items()):
        hub = ap.Link("hub", None, ap.Joint("hinge", ap.Revolute()), ap.shapes.box(1.0, 0.1, 0.1, 0.1))
        fixed = ap.Joint("clamp", ap.Fixed(), np.array([row["hub"], 0.0, 0.0]))
        robot = ap.Robot(
            "rotor",
            (hub, ap.Link("beam", "hub", fixed, ap.shapes.beam(1.0, bending=bending, **UNIT))),
            gravity=(0, 0, 0),
        )
        spin = np.zeros(robot.nv)
        spin[0] = row["eta"]
        errors = np.abs(clamped(robot, v=spin)[:2] / np.array(row[kind]) - 1.0)
        first, second = CASES["04_rotating_beam"]["tolerance"][2 * k : 2 * k + 2]
        assert errors[0] <= max(first, 1.01 * row["agreement"][2 * k])
        assert errors[1] <= second


def test_self_weight_buckling():
    case = CASES["05_self_weight_buckling"]
    beam = ap.shapes.beam(1.0, bending=(6, 0), **UNIT)

    def lowest(weight):
        dyn = ap.Dynamics(one_beam(beam, gravity=(-weight, 0, 0)))
        return np.linalg.eigvalsh(dyn.gravity.jacobian("q")(np.zeros(7))[1:, 1:])[0]

    assert brentq(lowest, 7.0, 9.0, xtol=1e-10) == pytest.approx(case["critical"], rel=case["tolerance"])
    with pytest.raises(ap.ModelError, match="no stable deflection"):
        ap.quasi_static(one_beam(beam, gravity=(-8.0, 0, 0)))


def spin_up(modes, stiffening, times):
    """Tip deflection of the spin-up manoeuvre of Kane, Ryan, Banerjee: 6 rad/s in 15 s."""
    beam = ap.shapes.beam(10.0, EI=1.4e4, mass_per_length=1.2, bending=(modes, 0), stiffening=stiffening)
    robot = one_beam(beam)
    n, inversion = robot.nq, ap.Dynamics(robot).joint_inversion

    def rate(t, y):
        acceleration = 0.4 * (1.0 - np.cos(2.0 * np.pi * t / 15.0)) if t < 15.0 else 0.0
        return np.concatenate([y[n:], inversion(y[:n], y[n:], [acceleration])[1]])

    solution = solve_ivp(rate, (0.0, times[-1]), np.zeros(2 * n), "DOP853", times, rtol=1e-8, atol=1e-10)
    return solution.y[1:n].sum(axis=0)


def test_spin_up_with_all_terms_of_the_foreshortening():
    case = CASES["16_spin_up"]
    expected = case["results"]["3 modes, foreshortening True"]["tip"]
    np.testing.assert_allclose(spin_up(3, "full", case["t"]), expected, atol=1e-7)


def test_spin_up_to_second_order_agrees_with_segments_and_exudyn():
    """3e-3 of the peak, as stated in the file, from a chain of rigid segments and from Exudyn's ANCF cables."""
    case = CASES["16_spin_up"]
    ours = spin_up(4, True, case["t"])
    for theirs in (case["results"]["segments extrapolated"]["tip"], case["exudyn"]["8"]["tip"]):
        assert np.abs(ours - theirs).max() < 3e-3 * 0.5738


def test_without_stiffening_the_spin_up_diverges():
    case = CASES["16_spin_up"]
    expected = case["results"]["3 modes, foreshortening False"]["tip"]
    np.testing.assert_allclose(spin_up(3, False, case["t"]), expected, rtol=1e-6)


def test_body_from_a_finite_element_program():
    """The rigid second link is not in the file; its parameters were identified from the first state."""
    case = CASES["19_finite_element_body"]
    file = case["file"]
    arrays = {"nodes": np.c_[file["x"], np.zeros((21, 2))], "masses": file["m"], "Phi": file["Phi"], "Psi": file["Psi"]}
    body = ap.FlexibleBody.from_modes(arrays | {"K": file["K"]})
    P = np.array([[[list(row) for row in matrix.rows] for matrix in block] for block in body.second])
    invariants = {key: np.array(value) for key, value in case["invariants"].items()}
    tr = np.trace(P, axis1=2, axis2=3)
    assert body.mass == pytest.approx(invariants["I1"], rel=1e-15)
    np.testing.assert_allclose([list(h) for h in body.first], [invariants["I2"], *invariants["I3"]], atol=1e-15)
    np.testing.assert_allclose(tr[1:, 1:], invariants["I6"], atol=1e-15)
    np.testing.assert_allclose(tr[0, 0] * np.eye(3) - P[0, 0], invariants["I7"], atol=1e-15)
    eight = [tr[0, j] * np.eye(3) - P[j, 0] for j in range(1, 5)]
    np.testing.assert_allclose(eight, invariants["I8"], atol=1e-15)

    rod = ap.Body.from_parameters([0.4, 0.04, 0.0, 0.008, 0.00116, 0.0, 0.00616, -0.0008, 0.0, 0.006])
    first = ap.Link("beam", None, ap.Joint("joint1", ap.Revolute()), body)
    second = ap.Link("rod", "beam", ap.Joint("joint2", ap.Revolute((0, 1, 0))), rod, at="n21")
    dyn = ap.Dynamics(ap.Robot("fe", (first, second)))
    for state in case["states"]:
        assert relative(dyn.mass_matrix(state["q"]), state["M"]) <= case["tolerance"]
        assert relative(dyn.bias(state["q"], state["v"]), state["bias"]) <= case["tolerance"]
        tau = [state["tau"][0], state["tau"][-1]]
        assert relative(dyn.forward_dynamics(state["q"], state["v"], tau), state["a"]) <= case["tolerance"]


def test_a_flexible_slider_crank_moves_like_one_of_rigid_segments():
    """The rod as modes in a loop, and as a chain of rigid segments in the same loop, extrapolated."""
    middles, slides = [], []
    for robot in (paper.flexible_slider_crank(3), paper.segmented_slider_crank(6), paper.segmented_slider_crank(12)):
        q = paper.turning_crank(robot, (0.002, 0.004, 0.008)).q
        middles.append(paper.bent_middle(robot, q))
        slides.append(q[:, -1])
    exact, at = (fine + (fine - coarse) / 3.0 for _, coarse, fine in (middles, slides))
    np.testing.assert_allclose(middles[0], exact, atol=1e-3 * np.abs(exact).max())
    np.testing.assert_allclose(slides[0], at, atol=1e-6)  # the bent rod is shorter by 1e-4 m
    assert np.abs(exact).max() > 0.01
    robot = paper.flexible_slider_crank(3)  # Exudyn's own integration error is about 6e-6
    middle = paper.bent_middle(robot, paper.turning_crank(robot).q)
    np.testing.assert_allclose(middle, paper.EXUDYN_MIDDLES, atol=1e-5)
