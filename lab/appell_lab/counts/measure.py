"""Operation counts of a method, from its tape: as written, and after simplification.

    as written     every operation of the method as written, without structural zeros and ones (`verbatim`)
    simplified     the tape that is compiled: equal expressions shared, common factors taken out, vector products
                   collected by constants, and base parameters instead of those of the bodies if the method allows it

In both, operations on constants of the robot alone are off-line and not counted; nor are sines and cosines of joints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from appell.compile.tape.collect import simplest
from appell.compile.tape.count import OpCount, count
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import trace
from appell.formulate.formulations import Method
from appell.formulate.tree import regroup
from appell.model.robot import Robot
from appell_lab.counts.general_arm import SYMBOLS, with_symbols
from appell_lab.counts.verbatim import verbatim


@dataclass(frozen=True)
class Counted:
    """A quantity that methods compute, with the names of their arguments other than the tree."""

    name: str
    arguments: tuple[str, ...]
    call: Callable  # (method, tree, *arguments) -> results
    matrices: tuple[str, ...] = ()  # which of the arguments are matrices of nv by nv

    def inputs(self, robot: Robot) -> list[Array]:
        """Return the arguments with their shapes."""
        shapes = {"q": (robot.nq,), **{name: (robot.nv, robot.nv) for name in self.matrices}}
        return [Array(name, shapes.get(name, (robot.nv,))) for name in self.arguments]


def _bias(method, tree, q, v):
    return method(tree, q, v, [0.0] * len(v), {})


INVERSE = Counted("inverse dynamics", ("q", "v", "a"), lambda method, tree, q, v, a: method(tree, q, v, a, {}))
BIAS = Counted("bias", ("q", "v"), _bias)
INERTIA = Counted("inertia matrix", ("q",), lambda method, tree, q: method(tree, q))
FACTOR = Counted("Cholesky's factor", ("M",), lambda method, tree, M: method(M), matrices=("M",))
BACK = Counted(
    "solution by a factor",
    ("L", "inverse", "b"),
    lambda method, tree, L, inverse, b: method(L, inverse, b),
    matrices=("L",),
)
FORWARD = Counted("forward dynamics", ("q", "v", "tau"), lambda method, tree, q, v, tau: method(tree, q, v, tau, {}))


def as_written(robot: Robot, method: Method, quantity: Counted) -> OpCount:
    """Return the operations of a method as written, for a robot of symbols."""
    inputs, body = _problem(robot, method, quantity, regrouped=False)
    return online(verbatim(quantity.name, inputs, body))


def simplified(robot: Robot, method: Method, quantity: Counted) -> OpCount:
    """Return the operations of a method after simplification, for a robot of symbols."""
    inputs, body = _problem(robot, method, quantity, regrouped=method.regroup)
    tape = trace(quantity.name, inputs, body)
    return online(simplest(tape, range(inputs[0].size)) if method.collect else tape)


def _problem(robot: Robot, method: Method, quantity: Counted, regrouped: bool) -> tuple[list[Array], Callable]:
    constants = Array("constants", (SYMBOLS * len(robot.links),))
    inputs = [constants, *quantity.inputs(robot)]

    def body(symbols, *arguments):
        tree = with_symbols(robot, symbols)
        return {"result": quantity.call(method, regroup(tree, known=lambda _: True) if regrouped else tree, *arguments)}

    return inputs, body


def online(tape: Tape) -> OpCount:
    """Return the operations of a tape that depend on more than its first argument, without trigonometric functions."""
    return replace(count(tape, range(tape.inputs[0].size)), trig=0)
