"""The class `Dynamics`: its functions, their signatures, invalid arguments, and its repr."""

from __future__ import annotations

import doctest
import inspect
import pickle

import numpy as np
import pytest

import appell as ap
from appell.compile.tape.evaluate import evaluate
from appell.dynamics import constraints, dynamics, frames, motion
from appell.dynamics.dynamics import FUNCTIONS

FORMULAS = [name for name in FUNCTIONS if name not in ("feedforward", "flat_state")]  # these are Taylor expansions
NAMES_OF_ARGUMENTS = ("q", "v", "a", "tau", "parameters", "wrench_q")


def formula(name: str):
    return getattr(motion, name, None) or getattr(constraints, name)


# ---- functions


@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_has_the_name_and_the_documentation_of_its_formula(name):
    assert getattr(ap.Dynamics, name).__doc__ == inspect.getdoc(formula(name))
    assert formula(name).__doc__
    assert name in ap.Dynamics(ap.load("pendulum")).functions


def test_the_arguments_of_a_function_are_the_parameters_of_its_formula():
    dyn = ap.Dynamics(ap.load("four-bar"), wrenches=["coupler"])
    for name in set(FORMULAS) - {"joint_motion", "survey", "spring_torques"}:
        parameters = list(inspect.signature(formula(name)).parameters)[1:]
        expected = ["wrench_coupler" if parameter == "wrenches" else parameter for parameter in parameters]
        assert [array.name for array in getattr(dyn, name).inputs] == expected


@pytest.mark.parametrize("module", [motion, dynamics])
def test_the_examples_of_the_documentation_print_what_they_show(module):
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_exported_code_has_the_summary_of_the_documentation():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    assert "Parameters" in function.__doc__
    assert function.summary == function.__doc__.splitlines()[0]


def test_every_function_of_a_frame_is_a_method():
    dyn = ap.Dynamics(ap.load("planar-2r"))
    for name in frames.FRAME_FUNCTIONS:
        function = getattr(dyn, name)(dyn.system.frame_names[-1])
        assert function.name.startswith(name)
        assert "{" not in function.__doc__


def test_a_user_defined_function_takes_its_arguments_from_its_formula():
    dyn = ap.Dynamics(ap.load("planar-2r"), wrenches=["tool"])

    def power(equations, q, v, tau, wrenches):
        """Power of the actuators."""
        return {"P": sum(x * y for x, y in zip(v, tau, strict=True)) + 0.0 * wrenches[dyn.system.frame("tool")][0]}

    made = dyn.function("power", power)
    assert [array.name for array in made.inputs] == ["q", "v", "tau", "wrench_tool"]
    assert made(np.zeros(2), [1.0, 2.0], [3.0, 4.0], np.zeros(6)) == 11.0


def test_an_unknown_argument_of_a_formula_is_named():
    dyn = ap.Dynamics(ap.load("planar-2r"))
    with pytest.raises(ap.ArgumentError, match=r"robot 'planar-2r' has no argument 'velocity'"):
        dyn.function("wrong", lambda equations, q, velocity: {"x": q[0]})


# ---- wrenches


@pytest.mark.parametrize("names", [["tool", "tool"], ["tool", "upper", "tool"]])
def test_a_frame_named_twice_in_wrenches_is_rejected(names):
    with pytest.raises(ap.ArgumentError, match=r"wrenches of robot 'planar-2r' names frame 'tool' 2 times"):
        ap.Dynamics(ap.load("planar-2r"), wrenches=names)


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_a_wrench_acts_on_a_frame_whatever_the_name_of_the_frame(function, reference):
    puma, rng = ap.load("puma"), np.random.default_rng(0)
    pose = puma.frame("tool").pose
    names = {"usual": [f"frame{k}" for k, _ in enumerate(NAMES_OF_ARGUMENTS)], "odd": NAMES_OF_ARGUMENTS}
    tapes = {}
    for label, frame_names in names.items():
        robot = puma.with_frames([ap.Frame(name, "link6", pose) for name in frame_names])
        derived = getattr(ap.Dynamics(robot, wrenches=frame_names, reference=reference), function).jacobian("q", "v")
        tapes[label] = derived.tape
    arguments = rng.uniform(-1.0, 1.0, (3, 6)), rng.uniform(-1.0, 1.0, (len(NAMES_OF_ARGUMENTS), 6))
    values = {label: evaluate(tape, *arguments[0], *arguments[1]) for label, tape in tapes.items()}
    for usual, odd in zip(values["usual"], values["odd"], strict=True):
        np.testing.assert_array_equal(odd, usual)


# ---- repr


def test_the_repr_states_the_terms_of_the_equations():
    puma = ap.load("puma")
    assert repr(ap.Dynamics(puma)) == "Dynamics(puma (6 links, nq=6, nv=6), 'gibbs-appell', rigid bodies only)"
    assert repr(ap.Dynamics(puma, friction=True)).endswith("'gibbs-appell', with friction)")
    assert repr(ap.Dynamics(puma, friction=True, rotors=True)).endswith("'gibbs-appell', with friction and rotors)")
    assert repr(ap.Dynamics(puma, rotors=True, looped=True)).endswith("'gibbs-appell', with rotors, in loops)")
    sprung = puma.with_actuators(lambda *_: ap.Actuator(stiffness=2.0))
    assert repr(ap.Dynamics(sprung)).endswith("'gibbs-appell', with springs)")
    assert repr(ap.Dynamics(sprung, friction=True, rotors=True)).endswith("with springs, friction and rotors)")
    again = pickle.loads(pickle.dumps(ap.Dynamics(puma, friction=True)))
    assert repr(again) == repr(ap.Dynamics(puma, friction=True))
