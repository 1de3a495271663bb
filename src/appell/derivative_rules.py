"""How the functions of a tree are differentiated without their tapes.

    inverse dynamics, Q, h, g    of the bodies by recursion; of drives and other wrenches, which are little, by tape
    forward dynamics             -M⁻¹ of these, at the a that is found; M⁻¹ by tau

A rule travels with its `Function` and makes the derivatives when they are asked for: `Function.jacobian` takes them
where they are cheaper than the differentiated tape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from appell.algebra.loops import UNROLLED, Loops
from appell.compile.content import content
from appell.compile.function import Function
from appell.compile.splice import inline
from appell.compile.tape import Array, Tape
from appell.formulate.derivatives.forward import forward_dynamics_derivatives
from appell.formulate.derivatives.inverse import Derivatives, Matrix
from appell.formulate.systems import Choice, TreeMaker
from appell.formulate.tree_equations import TreeEquations
from appell.model.body import Inertia, inertias_of
from appell.model.frame import Frame
from appell.model.robot import Robot

# what is differentiated, and by what: functions that give forces, and those that give accelerations
FORCES = {"inverse_dynamics": "q v a", "generalized_forces": "q v a", "bias": "q v", "gravity": "q"}
MOTIONS = {"forward_dynamics": "q v tau", "state_rate": "q v tau"}
FEW = 1_000  # entries of M times columns: so many are solved for in straight code


@dataclass(frozen=True)
class DerivativeRule:
    """The derivatives of one function of a tree, by the names of its arguments."""

    system: Robot
    choice: Choice
    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    pushed: tuple[Frame, ...]  # on which outside wrenches act
    free: tuple[str, ...]  # bodies whose parameters are an argument
    tangents: Mapping[str, Tape]

    @cached_property
    def _make(self) -> TreeMaker:
        return TreeMaker(self.system, self.choice)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __call__(self, wrt: tuple[str, ...]) -> Function | None:
        """None where there is no rule: by wrenches and parameters, or where forward dynamics has no answer."""
        known = (FORCES | MOTIONS)[self.name].split()
        if len(set(wrt)) < len(wrt) or not set(wrt) <= set(known):
            return None
        if self.name in MOTIONS and not self._make({}).is_regular:
            return None

        def body(*values) -> dict[str, Matrix]:
            arguments, loops = (values[:-1], values[-1]) if looped else (values, UNROLLED)
            found = self._found(arguments, wrt, loops)
            return {f"d{result.name}_d{name}": found[result.name, name] for name in wrt for result in self.outputs}

        looped = self.name in MOTIONS and self.system.nv * self._make({}).coupled > FEW
        name, doc = f"{self.name}_d{'_d'.join(wrt)}", f"Derivative of {self.name} by {', '.join(wrt)}."
        try:
            owner, subject = self.system.owner, content("derivatives", self, wrt)
            return Function.of(name, self.inputs, body, doc, owner, self.tangents, loops=looped, subject=subject)
        except ZeroDivisionError:  # M is singular for every q
            return None

    def _found(self, values: Sequence[Any], wrt: Sequence[str], loops: Loops) -> dict[tuple[str, str], Matrix]:
        """The derivatives of each result by each argument."""
        known = (FORCES | MOTIONS)[self.name].split()
        given, rest = dict(zip(known, values, strict=False)), values[len(known) :]
        equations = self._make(inertias_of(self.free, rest[-1]) if self.free else {})
        wrenches = dict(zip(self.pushed, rest, strict=False))
        q, still = given["q"], [0.0] * self.system.nv
        v = given.get("v", still)
        if self.name in FORCES:
            forces = self._forces(equations, q, v, given.get("a", still), wrenches)
            return {(self.outputs[0].name, name): getattr(forces, f"by_{name}") for name in wrt}
        a = equations.acceleration(q, v, given["tau"], wrenches)
        found = forward_dynamics_derivatives(self._forces(equations, q, v, a, wrenches), wrt, loops)
        rates = inline(self._rate.tape, q, v)
        by_name = {"q": rates[0], "v": rates[1], "tau": [[0.0] * self.system.nv for _ in range(self.system.nq)]}
        return {("a", name): found[name] for name in wrt} | {("rate", name): by_name[name] for name in wrt}

    def _forces(self, equations: TreeEquations, q, v, a, wrenches: Mapping[Frame, Sequence]) -> Derivatives:
        on_bodies = wrenches if self.choice.reference == "LOCAL" else {}
        bodies = equations.body_force_derivatives(q, v, a, on_bodies, apart=self.name in MOTIONS)
        others = inline(self._others.tape, q, v, a, *wrenches.values())
        by_q, by_v, by_a = (_sum(x, y) for x, y in zip(bodies[:3], others, strict=True))
        return bodies._replace(by_q=by_q, by_v=by_v, by_a=by_a)

    @cached_property
    def _others(self) -> Function:
        """The derivatives of all forces that are not of bodies: those of a tree without matter."""
        massless = self._make({name: Inertia() for name in self.system.body_names})
        n = self.system.nv
        inputs = {"q": self.system.nq, "v": n, "a": n} | {frame.name: 6 for frame in self.pushed}

        def forces(q, v, a, *wrenches):
            left = {} if self.choice.reference == "LOCAL" else dict(zip(self.pushed, wrenches, strict=True))
            return {"Q": massless.forces(q, v, a, left)}

        return Function.of("others", inputs, forces, tangents=self.tangents).jacobian("q", "v", "a")

    @cached_property
    def _rate(self) -> Function:
        inputs = {"q": self.system.nq, "v": self.system.nv}
        rate = Function.of("rate", inputs, lambda q, v: {"rate": self.system.rate(q, v)}, tangents=self.tangents)
        return rate.jacobian("q", "v")


def _sum(first: Matrix, second: Matrix) -> Matrix:
    return [[x + y for x, y in zip(row, other, strict=True)] for row, other in zip(first, second, strict=True)]
