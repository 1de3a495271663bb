"""A single method for a robot as a compiled function, independent of formulations, for comparison and timing."""

from __future__ import annotations

import re

from appell.compile.function import Function
from appell.compile.tape.collect import simplest
from appell.compile.tape.trace import trace
from appell.formulate.formulations import Method
from appell.formulate.tree import Tree, regroup
from appell.model.robot import Robot
from appell_lab.counts.measure import Counted


def kernel(robot: Robot, method: Method, quantity: Counted, *, plain: bool = False) -> Function:
    """Return a method for a robot as a Function; `plain` keeps the bodies instead of using base parameters."""
    method.check(robot)
    tree = Tree.of(robot)
    if method.regroup and not plain:
        tree = regroup(tree)
    name = re.sub(r"\W", "_", f"{quantity.name} by {method.name}")
    tape = trace(name, quantity.inputs(robot), lambda *arguments: {"result": quantity.call(method, tree, *arguments)})
    return Function(simplest(tape) if method.collect else tape, method.source, f"robot '{robot.name}'")
