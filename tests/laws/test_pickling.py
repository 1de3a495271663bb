"""Objects that users send to workers can be pickled and behave the same afterwards."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import appell as ap
from appell import control, identify, motion

RNG_SEED = 5


def drawn(function: ap.Function) -> list[np.ndarray]:
    """Return random arguments of a function, two samples."""
    rng = np.random.default_rng(RNG_SEED)
    return [rng.uniform(-0.4, 0.4, (2, *array.shape)) for array in function.inputs]


def answer(function: ap.Function) -> Any:
    return function(*drawn(function))


def used(system) -> ap.Dynamics:
    """Return dynamics after use: functions called and differentiated, functions of frames, equations."""
    dyn = ap.Dynamics(system)
    for function in (dyn.forward_dynamics, dyn.inverse_dynamics, dyn.mass_matrix):
        answer(function)
        answer(function.jacobian("q"))
        function.compile(np.float32)
    dyn.pose(system.frame_names[-1])
    _ = dyn.equations, dyn.tangents
    return dyn


def shape(x, y, z):
    return z - 0.1 * x * x


@cache
def puma() -> ap.Robot:
    return ap.load("puma")


@cache
def fall() -> ap.Record:
    return ap.simulate(
        ap.load("planar-2r"), [0.3, 0.2], [0.0, 0.0], 0.3, contacts=[ap.Contact("all", ap.Plane((0.0, 0.0, 1.0), -1.2))]
    )


def columns(record: ap.Record) -> Any:
    return record.t, record.q, record.v


def at(path: ap.Path) -> Any:
    return path(path.times(7))


def design() -> control.Design:
    arm = ap.load("planar-2r")
    return control.Design(arm, control.critical(20.0), period=1e-3)


def outputs(controller: control.Controller) -> Any:
    controller.reset()
    return controller([0.1, 0.2], [0.3, 0.4], np.ones((3, 2))).copy(), controller.integral


def fitted() -> Any:
    arm = ap.load("planar-2r")
    dyn = ap.Dynamics(arm)
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 60, 2))
    return identify.LeastSquares(arm).fit(q, v, a, dyn.inverse_dynamics(q, v, a))


def bound() -> Any:
    binding = ap.Dynamics(puma()).inverse_dynamics.bind()
    binding.q, binding.v, binding.a = np.random.default_rng(0).uniform(-1, 1, (3, 6))
    return binding


def series() -> motion.Fourier:
    return motion.Fourier(0.2, np.eye(2), np.ones((2, 2)), [0.1, 0.2])


# description -> (function that creates the object, function whose result must be the same after pickling)
CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "a robot": (puma, lambda x: [each.body.parameters for each in x.links]),
    "a robot with free bodies": (lambda: puma().with_free("link6"), lambda x: x.free),
    "dynamics of a robot": (lambda: used(puma()), lambda x: answer(x.forward_dynamics)),
    "dynamics of a free tree": (lambda: used(ap.load("tree10")), lambda x: answer(x.mass_matrix.jacobian("q"))),
    "dynamics of a mechanism": (lambda: used(ap.load("five-bar")), lambda x: answer(x.inverse_dynamics)),
    "dynamics of a constrained robot": (lambda: used(ap.load("four-bar")), lambda x: answer(x.forward_dynamics)),
    "dynamics with drives and wrenches": (
        lambda: ap.Dynamics(puma(), friction=True, rotors=True, wrenches=["tool"]),
        lambda x: answer(x.forward_dynamics),
    ),
    "a function with a rule": (
        lambda: ap.Dynamics(puma()).forward_dynamics,
        lambda x: [answer(x), answer(x.jacobian("q", "v"))],
    ),
    "a derivative": (lambda: ap.Dynamics(puma()).inverse_dynamics.jacobian("q"), answer),
    "a user-defined function": (
        lambda: ap.Function.of("area", {"r": ()}, lambda r: {"area": 3.14 * r * r}),
        answer,
    ),
    "a packed function": (lambda: ap.Dynamics(puma()).mass_matrix.packed(), lambda x: x(*drawn(x.function))),
    "a tape": (lambda: ap.Dynamics(puma()).gravity.tape, lambda x: (x.digest, str(x))),
    "a builder's robot": (lambda: ap.load("pendulum"), lambda x: x.joint_names),
    "a plane": (lambda: ap.Plane((0.0, 0.0, 1.0), -1.2), lambda x: x.gap(0.1, 0.2, 0.3)),
    "a sphere": (lambda: ap.Sphere(2.0), lambda x: x.gap(0.1, 0.2, 0.3)),
    "a user-defined surface": (lambda: ap.Implicit(shape), lambda x: x.gap(0.1, 0.2, 0.3)),
    "a contact": (lambda: ap.Contact("all", ap.Circle(2.5), restitution=0.5), lambda x: repr(x)),
    "a record": (fall, columns),
    "a ramp": (lambda: motion.Ramp([0, 1], [3, -1], velocity=[1.0, 2.0], acceleration=[4.0, 2.0]), at),
    "a spline": (lambda: motion.Spline([0, 1, 2, 3], np.ones((4, 2)), 3), at),
    "a Fourier series": (series, at),
    "a path in the shortest time": (
        lambda: motion.time_optimal(series(), ap.load("planar-2r"), velocity=2.0, torque=np.inf, intervals=50),
        at,
    ),
    "a line": (
        lambda: motion.CartesianLine(
            puma(), "tool", [0.5, 0.1, 0.05], [0.55, 0.1, 0.05], motion.zyz(0, 90, 180), 2.0, (1, 1, 1)
        ),
        at,
    ),
    "a design": (design, lambda x: outputs(control.Controller(x))),
    "a controller": (lambda: control.Controller(design()), outputs),
    "a linear system": (
        lambda: control.linearize(ap.load("pendulum"), [0.0]),
        lambda x: (x.A, x.B, x.states, x.poles),
    ),
    "a regulator": (
        lambda: control.lqr(control.linearize(ap.load("pendulum"), [0.0]), [1.0, 1.0]),
        lambda x: x(0.0, np.array([0.1]), np.array([0.2])),
    ),
    "a binding": (bound, lambda x: (x(), x.tau.copy(), x.q.copy())),
    "a binding in float32": (
        lambda: ap.Dynamics(puma()).gravity.bind(np.float32),
        lambda x: (x(), x.g.copy(), str(x.q.dtype)),
    ),
    "a fit": (fitted, lambda x: x.predict(*np.ones((3, 4, 2)))),
}


def assert_same(result: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert result.tobytes() == expected.tobytes()
    else:
        assert result == expected


@pytest.mark.parametrize("name", CASES)
def test_a_pickled_and_a_copied_object_give_the_same_results(name):
    make, evaluate = CASES[name]
    original = make()
    expected = evaluate(original)
    assert_same(evaluate(pickle.loads(pickle.dumps(original))), expected)
    assert_same(evaluate(copy.deepcopy(original)), expected)


def test_a_pickled_binding_has_its_own_arrays():
    original = bound()
    copied = pickle.loads(pickle.dumps(original))
    copied.q[:] = 0.0
    assert original.q.all()
    assert repr(copied) == repr(original)


def test_pickling_a_ufunc_is_an_error_with_its_name():
    function = ap.Dynamics(puma()).gravity
    with pytest.raises((pickle.PicklingError, AttributeError), match="gravity"):
        pickle.dumps(function.ufunc)


def answers(dyn: ap.Dynamics, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return dyn.gravity(q), dyn.gravity.jacobian("q")(q)


def test_dynamics_work_in_a_new_process():
    dyn = used(puma())
    q = np.random.default_rng(0).uniform(-1, 1, (50, 6))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert_same(pool.apply(answers, (dyn, q)), answers(dyn, q))
