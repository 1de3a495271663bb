"""Derivatives along the motion of a system, and derivatives of a tree's functions by recursion.

    inverse dynamics, Q, h, g    forces of the bodies by recursion; the small remainder (actuators, other wrenches) by
                                 differentiating its tape
    forward dynamics             with respect to q and v, -M⁻¹ times the above at the computed a; to tau, M⁻¹

A rule is pickled with its `Function` and creates the derivatives on request. `Function.jacobian` uses them where they
are cheaper than the differentiated tape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Vector
from appell.compile.cache.content_hash import content_hash
from appell.compile.function import Function
from appell.compile.tape.differentiate import forward
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import inline, trace
from appell.formulate.derivatives.forward import forward_dynamics_derivatives
from appell.formulate.derivatives.inverse import Derivatives, Matrix
from appell.formulate.equations import Equations
from appell.formulate.systems import EquationsFactory, FormulationChoice
from appell.model.body import Inertia, inertias_of
from appell.model.frame import Frame
from appell.model.robot import Robot

FORCES = frozenset({"inverse_dynamics", "generalized_forces", "bias", "gravity"})  # functions with a rule: forces
MOTIONS = frozenset({"forward_dynamics", "state_rate"})  # functions with a rule: accelerations
ARGUMENTS = frozenset({"q", "v", "a", "tau"})  # the rules differentiate with respect to these
MAX_STRAIGHT_ENTRIES = 1_000  # entries of M times columns up to which derivatives are solved for in straight code


def along_motion(tape: Tape, name: str, equations: Callable[[Vector], Equations]) -> Tape:
    """Return the rate of the results of `tape` along the motion of a system.

    Rates of the arguments: dq/dt from the equations, including prescribed motions and rotating planes; dv/dt = a, or
    zero if the tape has no argument a; (ṡ, s̈, 0) for the values (s, ṡ, s̈) of a prescribed motion. All other arguments
    are constant.

    Parameters
    ----------
    tape : tape with arguments q and v, and possibly a and prescribed
    name : name of the new tape
    equations : function that returns the equations for given values of the prescribed motions
    """
    inputs = tape.inputs

    def rates(*values):
        given = dict(zip((array.name for array in inputs), values, strict=True))
        prescribed = given.get("prescribed", ())
        moving = {"q": equations(prescribed).rate(given["q"], given["v"]), "v": given.get("a")}
        moving["prescribed"] = [x for k in range(0, len(prescribed), 3) for x in (*prescribed[k + 1 : k + 3], 0.0)]
        return {"seed": [[x] for array in inputs for x in moving.get(array.name) or [0.0] * array.size]}

    return forward(tape, name, [trace("along_motion", inputs, rates)], tape.outputs)


def wrench_name(frame: Frame) -> str:
    """Return the name of the argument that holds the wrench on a frame."""
    return f"wrench_{frame.name}"


@dataclass(frozen=True)
class DerivativeRule:
    """Computes derivatives of one function of a tree with respect to arguments given by name."""

    system: Robot
    choice: FormulationChoice
    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    wrench_frames: tuple[Frame, ...]  # frames on which external wrenches act
    free: tuple[str, ...]  # bodies whose inertial parameters are an argument
    tangents: Mapping[str, Tape]

    @cached_property
    def _make(self) -> EquationsFactory:
        return EquationsFactory(self.system, self.choice)

    def equations(self, parameters: Vector) -> Equations:
        """Return the equations with scalars for the inertial parameters of free bodies."""
        return self._make(inertias_of(self.free, parameters) if self.free else {})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __call__(self, wrt: tuple[str, ...]) -> Function | None:
        """Return the derivatives; None if M is singular, or for wrenches and parameters, which have no rule."""
        if len(set(wrt)) < len(wrt) or not set(wrt) <= ARGUMENTS:
            return None
        if self.name in MOTIONS and not self._make({}).is_regular:
            return None

        def body(*values) -> dict[str, Matrix]:
            arguments, loops = (values[:-1], values[-1]) if looped else (values, UNROLLED)
            derivatives = self._derivatives(arguments, wrt, loops)
            return {
                f"d{result.name}_d{name}": derivatives[result.name, name] for name in wrt for result in self.outputs
            }

        coupled = self._make({}).bodies.coupled  # type: ignore[union-attr]
        looped = self.name in MOTIONS and self.system.nv * coupled > MAX_STRAIGHT_ENTRIES
        name, doc = f"{self.name}_d{'_d'.join(wrt)}", f"Derivative of {self.name} with respect to {', '.join(wrt)}."
        try:
            owner, subject = self.system.owner, content_hash("derivatives", self, wrt)
            return Function.of(name, self.inputs, body, doc, owner, self.tangents, loops=looped, subject=subject)
        except ZeroDivisionError:  # M is singular for every q
            return None

    def _derivatives(self, values: Sequence[Any], wrt: Sequence[str], loops: Loops) -> dict[tuple[str, str], Matrix]:
        """Return the derivatives of each result with respect to each argument."""
        given = dict(zip((array.name for array in self.inputs), values, strict=True))
        equations = self.equations(given.get("parameters", ()))
        wrenches = {frame: given[wrench_name(frame)] for frame in self.wrench_frames}
        q, zeros = given["q"], [0.0] * self.system.nv
        v = given.get("v", zeros)
        if self.name in FORCES:
            forces = self.forces(equations, q, v, given.get("a", zeros), wrenches)
            return {(self.outputs[0].name, name): getattr(forces, f"by_{name}") for name in wrt}
        a = equations.acceleration(q, v, given["tau"], wrenches)
        of_a = forward_dynamics_derivatives(self.forces(equations, q, v, a, wrenches), wrt, loops)
        by_q, by_v = inline(self._rate.tape, q, v)
        of_rate = {"q": by_q, "v": by_v, "tau": [[0.0] * self.system.nv for _ in range(self.system.nq)]}
        return {("a", name): of_a[name] for name in wrt} | {("rate", name): of_rate[name] for name in wrt}

    def forces(self, equations: Equations, q, v, a, wrenches: Mapping[Frame, Sequence]) -> Derivatives:
        """Return the derivatives of the forces Q(q, v, a) along the coordinates."""
        on_bodies = wrenches if self.choice.reference == "LOCAL" else {}
        derived = equations.bodies.force_derivatives  # type: ignore[union-attr]
        bodies = derived(q, v, a, on_bodies, apart=self.name in MOTIONS)
        others = inline(self._others.tape, q, v, a, *wrenches.values())
        by_q, by_v, by_a = (_sum(x, y) for x, y in zip(bodies[:3], others, strict=True))
        return bodies._replace(by_q=by_q, by_v=by_v, by_a=by_a)

    @cached_property
    def _others(self) -> Function:
        """The derivatives of all forces other than those of the bodies: the forces of a tree without mass."""
        massless = self._make({name: Inertia() for name in self.system.body_names})
        n = self.system.nv
        inputs = {"q": self.system.nq, "v": n, "a": n} | {wrench_name(frame): 6 for frame in self.wrench_frames}

        def forces(q, v, a, *wrenches):
            left = {} if self.choice.reference == "LOCAL" else dict(zip(self.wrench_frames, wrenches, strict=True))
            return {"Q": massless.forces(q, v, a, left)}

        return Function.of("others", inputs, forces, tangents=self.tangents).jacobian("q", "v", "a")

    @cached_property
    def _rate(self) -> Function:
        inputs = {"q": self.system.nq, "v": self.system.nv}
        rate = Function.of("rate", inputs, lambda q, v: {"rate": self._make({}).rate(q, v)}, tangents=self.tangents)
        return rate.jacobian("q", "v")


def _sum(first: Matrix, second: Matrix) -> Matrix:
    return [[x + y for x, y in zip(row, other, strict=True)] for row, other in zip(first, second, strict=True)]
