"""How a catalogue makes its functions: an entry is a formula over equations, traced when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, overload

from appell.algebra.scalar import Vector
from appell.compile.content import content, is_ours
from appell.compile.formula import Formula
from appell.compile.function import Function
from appell.compile.kept import kept
from appell.compile.native.making import MAKING
from appell.compile.passes.collect import simplest
from appell.compile.rolling.roll import roll
from appell.compile.tape import Array, Tape
from appell.compile.taylor import Taylor
from appell.compile.trace import trace
from appell.derivative_rules import FORCES, MOTIONS, DerivativeRule
from appell.errors import ModelError
from appell.formulate.equations import Equations
from appell.formulate.systems import Choice, Maker, TreeMaker, maker
from appell.model.body import inertias_of
from appell.model.constrained import refuse_unconstrained
from appell.model.system import System

Body = Callable[..., Mapping[str, Any]]  # (equations, *arguments) -> results by name
_QUICK = 3  # velocities up to which a function is traced in no more time than it takes to find its trace


class Catalogue:
    """A system, a choice of equations, and the frames on which outside forces act."""

    def __init__(self, system: System, choice: Choice, wrenches: Iterable[str] = ()):
        self.system, self.choice = system, choice
        self._make: Maker = maker(system, choice, Taylor)
        self.wrenches = (wrenches,) if isinstance(wrenches, str) else tuple(wrenches)
        self._pushed = [system.frame(name) for name in self.wrenches]
        self._of_frames: dict[tuple[str, ...], Function] = {}

    @property
    def formulation(self) -> str:
        """The name of the way to the equations."""
        return self._make.name

    @property
    def looped(self) -> tuple[str, ...]:
        """The functions that run as loops over the links: their code is as long as one step, however long the robot."""
        return self._make.looped

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of its functions of motion, forces and coordinates; those of frames are methods."""
        kinds = (vars(kind) for kind in type(self).__mro__)
        return tuple(name for entries in kinds for name, entry in entries.items() if isinstance(entry, Entry))

    @cached_property
    def equations(self) -> Equations:
        """The same over abstract scalars, for functions of one's own: see `Function.of`."""
        return self._make({})

    def equations_with(self, parameters: Vector = (), prescribed: Vector = ()) -> Equations:
        """The same with scalars for the inertial parameters of free bodies and for motions that are prescribed."""
        if not (parameters or prescribed):
            return self.equations
        return self._make(inertias_of(self.free_bodies, parameters) if parameters else {}, prescribed)

    def function(
        self,
        name: str,
        arguments: str,
        body: Body,
        doc: str = "",
        *,
        inertial: bool = True,
        pushed: bool = False,
        subject: str | None = None,
    ) -> Function:
        """Trace `body(equations, *arguments)`; `pushed` adds a wrench for each frame, as one mapping at the end.

        A long trace is kept on disk under its `subject`, if there is one.
        """
        system = self.system
        given = arguments.split()
        inputs = [Array(argument, (self._size(name, argument),)) for argument in given]
        if pushed:
            inputs += [Array(f"wrench_{frame}", (6,)) for frame in self.wrenches]
        free = self.free_bodies if inertial else []
        if free:
            inputs.append(Array("parameters", (10 * len(free),)))
        if system.prescribed:
            inputs.append(Array("prescribed", (3 * len(system.prescribed),)))

        def traced(values, loops=None):
            known = dict(zip((array.name for array in inputs), values, strict=True))
            equations = self.equations_with(known.get("parameters", ()), known.get("prescribed", ()))
            outside = (dict(zip(self._pushed, values[len(given) :], strict=False)),) if pushed else ()
            return body(equations.run_by(loops) if loops else equations, *values[: len(given)], *outside)

        def make() -> Tape:
            tape = trace(name, inputs, lambda *values: traced(values))
            return simplest(tape) if self._make.collects(name) else tape

        formula: Formula
        if name in self.looped:
            formula = roll(name, inputs, lambda *values: traced(values[:-1], values[-1]))
        else:
            formula = kept(subject, make)
        return Function(formula, doc, system.owner, self.tangents, self._rule(formula, pushed, free))

    def _size(self, name: str, argument: str) -> int:
        """Of an argument of a function."""
        if argument == "s":
            return len(self.equations.dry_drives)
        if argument not in self.system.sizes:
            refuse_unconstrained(self.system, name)
        return self.system.sizes[argument]

    def subject(self, *named: str) -> str | None:
        """The content of this catalogue as a name for what is made of it; None if it is small, or nobody can say."""
        if self.system.nv <= _QUICK or not is_ours(type(self)):
            return None
        return content(self.system, self.choice, self.wrenches, named)

    def _rule(self, formula: Formula, pushed: bool, free: list[str]) -> DerivativeRule | None:
        """How the function of a formula is differentiated, if there is another way than through its tape."""
        make = self._make
        if formula.name not in FORCES | MOTIONS or not (isinstance(make, TreeMaker) and make.structured):
            return None
        on = tuple(self._pushed) if pushed else ()
        return DerivativeRule(
            make.robot, self.choice, formula.name, formula.inputs, formula.outputs, on, tuple(free), self.tangents
        )

    @property
    def free_bodies(self) -> list[str]:
        """The bodies whose parameters are arguments; an error if others lack theirs."""
        system = self.system
        if lacking := system.lacking():
            raise ModelError(
                f"{system.owner} has moving links without inertia: {', '.join(lacking)}.",
                source=system.source,
                hint="add <inertial> to them, or load with physical=False to take them as massless",
            )
        return [name for name in system.body_names if name in system.free]

    def __getstate__(self) -> tuple:
        """All that the rest follows from, and the functions that were traced already, which travel as tapes."""
        made = {name: value for name, value in vars(self).items() if isinstance(value, Function)}
        return self.system, self.choice, self.wrenches, made, self._of_frames

    def __setstate__(self, state: tuple) -> None:
        system, choice, wrenches, made, of_frames = state
        Catalogue.__init__(self, system, choice, wrenches)
        vars(self).update(made)
        self._of_frames.update(of_frames)

    @cached_property
    def tangents(self) -> dict[str, Tape]:
        """The columns of N in q̇ = N(q) v, where that is more than the identity."""
        system = self.system
        if system.is_flat:
            return {}
        return {"q": trace("tangent", [Array("q", (system.nq,))], lambda q: {"N": self.equations.tangents(q)})}


class Entry:
    """A function of a catalogue: made when first asked for, kept by its catalogue, documented on the class."""

    def __init__(self, arguments: str, body: Body, doc: str, *, inertial: bool = True, pushed: bool = False):
        self._arguments, self._body, self.__doc__ = arguments, body, doc
        self._options = {"inertial": inertial, "pushed": pushed}

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._owner = name, owner.__qualname__

    @overload
    def __get__(self, catalogue: None, owner: type) -> Entry: ...

    @overload
    def __get__(self, catalogue: Catalogue, owner: type) -> Function: ...

    def __get__(self, catalogue: Catalogue | None, owner: type) -> Entry | Function:
        if catalogue is None:
            return self
        made = vars(catalogue)
        with MAKING:
            if self._name not in made:  # found there from now on, before this
                made[self._name] = catalogue.function(
                    self._name,
                    self._arguments,
                    self._body,
                    self.__doc__ or "",
                    subject=self._subject(catalogue),
                    **self._options,
                )
        return made[self._name]

    def _subject(self, catalogue: Catalogue) -> str | None:
        """What this function of a catalogue is; unknown if its formula is somebody else's or depends on more."""
        body = self._body
        if not is_ours(body) or getattr(body, "__closure__", None) is not None:
            return None
        return catalogue.subject(body.__module__, self._owner, self._name)
