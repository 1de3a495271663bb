"""A function whose derivatives are functions of the same kind, of any order: what a differentiating library asks for.

    along        (x, ẋ) ↦ J(x) ẋ         forward: the change of all results as arguments move, linear in ẋ
    transposed   (x, G) ↦ J(x)ᵀ G        backward: a function that is linear in some arguments, turned round

Both are tapes again, so that each can be moved along and turned round in its turn. That is all there is to know: a
library that goes forward asks for `along`, one that goes backward turns `along` round, and second derivatives are
these of those. A linear function turned round takes the arguments in which it is not linear, then one weight a result,
and gives one result for each argument that is taken away.

Derivatives are along the plain numbers of an argument, four of them for a quaternion, as such a library sees it. (The
`jacobian` of a function goes along velocities instead.) Branches are differentiated as `compile.differentiate` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from appell.compile.content import content
from appell.compile.contracted import along, weighted
from appell.compile.differentiate import jacobian
from appell.compile.graph import Graph
from appell.compile.kept import kept
from appell.compile.native.making import MAKING
from appell.compile.readings import SHORT
from appell.compile.seed import seed
from appell.compile.tape import Array, Tape

if TYPE_CHECKING:
    from appell.compile.function import Function


@dataclass(frozen=True, eq=False)
class Derivable:
    """A function, and the arguments in which it is linear. Two are equal if they compute the same."""

    function: Function
    linear: tuple[int, ...] = ()  # positions
    _derived: dict = field(default_factory=dict, init=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Derivable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self):
        return Derivable, (self.function, self.linear)

    @property
    def _key(self) -> tuple:
        return self.function.formula.digest, self.linear

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.function.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.function.outputs

    def along(self, moved: Sequence[int]) -> Derivable:
        """The change of all results as the arguments at these positions move; the directions are further arguments."""
        return self._once("along", tuple(moved))

    def transposed(self, taken: Sequence[int]) -> Derivable:
        """The function turned round by the arguments at these positions, in which it is linear."""
        return self._once("transposed", tuple(taken))

    def pulled_back(self, moved: Sequence[int]) -> Derivable:
        """Weights of all results, which come last, brought back to the arguments at these positions."""
        ahead = self.along(moved)
        return ahead.transposed(ahead.linear)

    def _once(self, kind: str, positions: tuple[int, ...]) -> Derivable:
        with MAKING:
            if (kind, positions) not in self._derived:
                self._derived[kind, positions] = self._derive(kind, positions)
            return self._derived[kind, positions]

    def _derive(self, kind: str, positions: tuple[int, ...]) -> Derivable:
        of, make = self.function, {"along": _along, "transposed": _transposed}[kind]
        subject = content(kind, of.tape, positions) if len(of.tape) * len(of.inputs) > SHORT // 4 else None
        found = type(of)(kept(subject, lambda: make(of.tape, positions)), f"{kind} of {of.name}.", of.owner)
        rest = len(of.inputs) - (len(positions) if kind == "transposed" else 0)
        return Derivable(found, tuple(range(rest, len(found.inputs))))


def _along(tape: Tape, moved: tuple[int, ...]) -> Tape:
    names = {array.name for array in tape.inputs}
    directions = [_named_apart(replace(tape.inputs[k], name=f"d{tape.inputs[k].name}"), names) for k in moved]
    seeds = [seed(tape.inputs, tape.inputs[k].name) for k in moved]
    return along(tape, f"{tape.name}_along_{'_'.join(tape.inputs[k].name for k in moved)}", seeds, directions)


def _transposed(tape: Tape, taken: tuple[int, ...]) -> Tape:
    """∂(Σ G · results) by the arguments that are taken away; where nothing reads these any more, they go."""
    whole = Tape(tape.name, tape.inputs, (Array("results", (len(tape.results),)),), tape.nodes, tape.results)
    total = weighted(whole, f"{tape.name}_transposed")
    wrt = [tape.inputs[k] for k in taken]
    gradient = jacobian(total, total.name, [seed(total.inputs, array.name) for array in wrt], [w.name for w in wrt])

    stay = [array for k, array in enumerate(tape.inputs) if k not in taken]
    names = {array.name for array in stay}
    weights = [_named_apart(replace(array, name=f"G_{array.name}"), names) for array in tape.outputs]
    graph = Graph()
    kept_inputs = iter(range(gradient.input_size))
    numbers = [  # the input that each scalar becomes; one that is taken away is read by nobody
        graph.const(0.0) if k in taken else graph.input(next(kept_inputs))
        for k, array in enumerate((*tape.inputs, whole.outputs[0]))
        for _ in range(array.size)
    ]
    index = graph.splice(gradient, numbers)
    outputs = [replace(array, name=f"g_{array.name}") for array in wrt]
    return graph.tape(total.name, (*stay, *weights), outputs, [index[k] for k in gradient.results])


def _named_apart(array: Array, names: set[str]) -> Array:
    """The array by a name that no other has; `names` learns it."""
    name = array.name
    while name in names:
        name += "_"
    names.add(name)
    return replace(array, name=name)
