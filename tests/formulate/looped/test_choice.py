"""Which trees use loops, and how to request loops or straight-line code."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.compile.program.program import Program
from appell.compile.tape.tape import Tape
from robots import example_urdfs, random_motion, random_tree, rope


def chain(links):
    return random_tree(1, links, kinds=("revolute",), branching=False)


def bush(links):
    """A tree whose links are all attached to the ground."""
    robot = chain(links)
    return replace(robot, links=tuple(replace(link, parent=None) for link in robot.links))


def test_long_chains_use_loops_and_short_ones_do_not():
    short, long = ap.Dynamics(chain(6)), ap.Dynamics(chain(40))
    assert short.looped == ()
    assert isinstance(long.inverse_dynamics.formula, Program)
    assert isinstance(long.forward_dynamics.formula, Program)
    assert repr(long).endswith("in loops)")
    assert "loops" not in repr(short)


def test_the_inertia_matrix_of_a_bush_couples_few_links_so_its_forward_dynamics_has_no_loops():
    assert "forward_dynamics" in ap.Dynamics(chain(40)).looped
    assert "forward_dynamics" not in ap.Dynamics(bush(40)).looped


EXAMPLES = ["talos_full_v2.urdf", "icub.urdf", "romeo_laas_small.urdf", "tiago_pro.urdf", "centauro.urdf"]


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
@pytest.mark.parametrize("robot", [*EXAMPLES, chain(16), chain(40), rope(40)], ids=str)
def test_inverse_dynamics_uses_the_form_with_fewer_operations(robot):
    if isinstance(robot, str):
        robot = ap.load(next(path for path in example_urdfs() if path.name == robot), physical=False)

    def operations(looped):
        counts = ap.Dynamics(robot, looped=looped).inverse_dynamics.count()
        return counts.mul + counts.add

    assert ("inverse_dynamics" in ap.Dynamics(robot).looped) == (operations(True) < operations(False))


def test_a_tree_whose_straight_line_code_would_take_long_to_compile_uses_loops():
    assert "inverse_dynamics" in ap.Dynamics(rope(300)).looped


def test_loops_and_straight_line_code_can_be_requested():
    assert isinstance(ap.Dynamics(chain(3), looped=True).inverse_dynamics.formula, Program)
    assert isinstance(ap.Dynamics(chain(41), looped=False).inverse_dynamics.formula, Tape)


def test_the_code_of_a_loop_does_not_grow_with_the_robot():
    def tapes(links):
        formula = ap.Dynamics(chain(links)).forward_dynamics.formula
        return [len(step.tape) for stage in formula.stages for step in stage.steps]

    assert tapes(60) == tapes(240)


def test_requested_formulations_and_methods_are_never_replaced_by_loops():
    robot = chain(41)
    assert ap.Dynamics(robot, "newton-euler").looped == ()
    by_name = ap.Dynamics(robot, forward="articulated-body").looped
    assert "inverse_dynamics" in by_name
    assert "forward_dynamics" not in by_name
    with pytest.raises(ap.ArgumentError, match="'kane' cannot use loops"):
        ap.Dynamics(robot, "kane", looped=True)
    with pytest.raises(ap.ArgumentError, match="closed form"):
        ap.Dynamics(ap.load("delta"), looped=True)
    with pytest.raises(ap.ArgumentError, match="looped is 'yes'"):
        ap.Dynamics(robot, looped="yes")


def test_forward_dynamics_with_mimic_joints_uses_straight_line_code():
    robot = random_tree(0, 12, kinds=("mimic",))
    assert any(link.joint.mimic for link in robot.links)
    looped = ap.Dynamics(robot, looped=True).looped
    assert "inverse_dynamics" in looped
    assert "forward_dynamics" not in looped


def test_a_choice_survives_pickling():
    robot = chain(4)
    dyn = ap.Dynamics(robot, looped=True)
    motion = random_motion(robot, np.random.default_rng(1))
    tau = dyn.inverse_dynamics(*motion)
    again = pickle.loads(pickle.dumps(dyn))
    assert again.looped == dyn.looped
    np.testing.assert_array_equal(again.inverse_dynamics(*motion), tau)
    np.testing.assert_array_equal(again.forward_dynamics(*motion), dyn.forward_dynamics(*motion))
