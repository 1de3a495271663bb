"""Flexible bodies of mechanisms: a slider-crank in closed form, compared with the same slider-crank as a tree with a
loop, whose equations are derived from recursions and constraints."""

import numpy as np
import pytest

import appell as ap
from answers import interpreted
from appell.algebra.matrix import Mat3
from appell.algebra.scalar import cos, sin, sqrt
from appell.formulate.flexible.regressor import body_terms

CRANK, ROD = 0.15, 0.3  # m
GRAVITY = (0.0, -9.81, 0.0)
CRANK_BODY, BLOCK = ap.shapes.box(0.1, 0.1, 0.1, 0.1), ap.shapes.box(0.03, 0.01, 0.01, 0.01)
STIFFENING = (True, "full", False)


def pinned_rod(stiffening=True):
    return ap.shapes.beam(
        ROD, EI=12.7, mass_per_length=0.22, bending=(2, 0), ends="pinned", damping=1e-4, stiffening=stiffening
    )


def closed_form(rod, **changes):
    """Coordinates: angle of the crank and both modes. The distance of the ends of the rod depends on its modes."""
    tip = rod.node("tip")

    def length(q):
        shortening = (tip.shapes[2 + b].x * q[1 + j] * q[1 + k] for b, (j, k) in enumerate(rod.pairs))
        return sum(shortening, start=tip.position.x)

    def turned(c, s, x=0.0, y=0.0):
        return ap.Pose(Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), ap.Vec3(x, y, 0.0))

    def slope(q):
        s = -CRANK * sin(q[0]) / length(q)
        return sqrt(1.0 - s * s), s

    given = dict(
        name="slider-crank",
        coordinates=["angle", "y1", "y2"],
        parts=[
            ap.MovingBody("crank", lambda q: turned(cos(q[0]), sin(q[0])), CRANK_BODY),
            ap.MovingBody(
                "rod", lambda q: turned(*slope(q), CRANK * cos(q[0]), CRANK * sin(q[0])), rod, modes=["y1", "y2"]
            ),
            ap.MovingBody("slider", lambda q: turned(1.0, 0.0, CRANK * cos(q[0]) + length(q) * slope(q)[0]), BLOCK),
        ],
        driven=[ap.LegJoint("crank_joint", lambda q: q[0])],
        home=[0.3, 0.0, 0.0],
        units=["rad", "m", "m"],
        pins=[ap.Pin("crank", (CRANK, 0, 0), "rod")],
        frames=[ap.Frame("pin", "rod", at="tip")],
        gravity=GRAVITY,
    )
    return ap.Mechanism(**given | changes)


def with_loop(rod):
    crank = ap.Builder("slider-crank", gravity=GRAVITY)
    crank.link("crank", ap.Revolute((0, 0, 1)), body=CRANK_BODY)
    crank.link("rod", ap.Revolute((0, 0, 1)), parent="crank", xyz=(CRANK, 0, 0), body=rod)
    crank.link("slider", ap.Prismatic((1, 0, 0)), body=BLOCK)
    crank.frame("pin", on="rod", node="tip")
    return crank.build().with_loops(ap.Point("pin", "slider"), home=[0, 0, 0, 0, CRANK + ROD], actuated=["crank_joint"])


@pytest.fixture(params=STIFFENING, ids=str, scope="module")
def pair(request):
    rod = pinned_rod(request.param)
    mechanism, robot = closed_form(rod), with_loop(rod)
    assert robot.velocity_names == ("crank_joint", "rod.y1", "rod.y2")
    q, v, a = np.array([0.4, 0.003, -0.002]), np.array([3.0, 0.2, -0.1]), np.array([20.0, -3.0, 5.0])
    closed, tree = ap.Dynamics(mechanism), ap.Dynamics(robot)
    R, slider = closed.pose("rod", q)[:3, :3], closed.pose("slider", q)[:3, 3]
    in_tree = np.array([q[0], np.arctan2(R[1, 0], R[0, 0]) - q[0], *q[1:], slider[0]])
    np.testing.assert_allclose(interpreted(tree.gap, in_tree), 0.0, atol=1e-15)
    return closed, tree, q, in_tree, v, a


def close(ours, theirs, rtol=1e-10):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.abs(theirs).max())


def test_motion_and_energy_are_those_of_the_tree_with_a_loop(pair):
    closed, tree, q, in_tree, v, a = pair
    close(interpreted(closed.generalized_forces, q, v, a), interpreted(tree.generalized_forces, in_tree, v, a))
    close(interpreted(closed.mass_matrix, q), interpreted(tree.mass_matrix, in_tree))
    close(interpreted(closed.gravity, q), interpreted(tree.gravity, in_tree))
    close(interpreted(closed.friction, q, v), interpreted(tree.friction, in_tree, v))
    close(interpreted(closed.forward_dynamics, q, v, [0.7]), interpreted(tree.forward_dynamics, in_tree, v, [0.7]))
    close(interpreted(closed.energy, q, v), interpreted(tree.energy, in_tree, v))
    close(interpreted(closed.momentum, q, v), interpreted(tree.momentum, in_tree, v))
    close(interpreted(closed.center_of_mass, q), interpreted(tree.center_of_mass, in_tree))


def test_frames_on_nodes_are_those_of_the_tree_with_a_loop(pair):
    closed, tree, q, in_tree, v, _ = pair
    close(interpreted(closed.pose("pin"), q), interpreted(tree.pose("pin"), in_tree))
    for axes in ("LOCAL", "LOCAL_WORLD_ALIGNED"):
        close(interpreted(closed.jacobian("pin", axes), q), interpreted(tree.jacobian("pin", axes), in_tree))
    ours = closed.equations.point_motions([closed.system.frame("pin")], q.tolist(), v.tolist())[0]
    theirs = tree.equations.point_motions([tree.system.frame("pin")], in_tree.tolist(), v.tolist())[0]
    close(list(ours.position), list(theirs.position))
    close(list(ours.velocity), list(theirs.velocity))
    close(list(ours.drift), list(theirs.drift))


def test_forces_are_the_gradient_of_the_gibbs_function_and_linear_in_the_parameters(pair):
    closed, tree, q, in_tree, v, a = pair
    Q = interpreted(closed.generalized_forces, q, v, a)
    close(interpreted(closed.gibbs_function.gradient("a"), q, v, a), Q)
    close(interpreted(closed.regressor, q, v, a) @ closed.parameter_values, Q)
    close(interpreted(tree.regressor, in_tree, v, a) @ tree.parameter_values, Q)
    of_rod = [parameter.kind for parameter in closed.parameters if parameter.owner == "rod"]
    assert of_rod == ["mass_per_length", "EIy", "damping"] == [term.kind for term in body_terms(pinned_rod())]
    C, h = interpreted(closed.coriolis, q, v), interpreted(closed.bias, q, v)
    close(C @ v, h - interpreted(closed.gravity, q) - interpreted(closed.friction, q, v), rtol=1e-9)


def test_both_descriptions_move_alike():
    rod = pinned_rod()
    ours = ap.simulate(closed_form(rod), q0=[0.0, 0.0, 0.0], v0=[60.0, 0.0, 0.0], until=0.02)
    theirs = ap.simulate(with_loop(rod), v0=[60.0, 0.0, 0.0], until=0.02)
    np.testing.assert_allclose(ours.q[-1], theirs.q[-1][[0, 2, 3]], atol=1e-7)
    assert np.abs(ours.q[:, 1]).max() > 5e-4


@pytest.mark.parametrize(
    ("modes", "frames", "message"),
    [
        (["y1"], (), "has 2 modes and 1 modal coordinates"),
        (["y1", "y3"], (), "has no coordinate 'y3'. It has: angle, y1, y2"),
        (["y1", "y1"], (), "coordinate 'y1' .* belongs to a mode of 'rod' and 'rod'"),
        (["y1", "y2"], [ap.Frame("f", "rod", at="tpi")], "has no node 'tpi'. Did you mean 'tip'"),
        (["y1", "y2"], [ap.Frame("f", "crank", at="tip")], "at node 'tip' of 'crank', which is not flexible"),
        (["y1", "y2"], [ap.Frame("f", "rod", np.array([0.1, 0, 0]), at="tip")], "has an offset from node 'tip'"),
    ],
)
def test_modes_and_nodes_that_do_not_fit_are_named(modes, frames, message):
    good = closed_form(pinned_rod())
    parts = [*good.parts[:1], ap.MovingBody("rod", good.parts[1].pose, good.parts[1].body, modes=modes), good.parts[2]]
    with pytest.raises(ap.ModelError, match=message):
        closed_form(pinned_rod(), parts=parts, frames=frames)


def test_modes_of_a_rigid_body_and_free_flexible_bodies_are_refused():
    good = closed_form(pinned_rod())
    with pytest.raises(ap.ModelError, match="has 0 modes and 2 modal coordinates"):
        good.with_bodies({"rod": BLOCK})
    with pytest.raises(ap.ModelError, match="inertial parameters of the flexible body 'rod'"):
        good.with_free("rod")
