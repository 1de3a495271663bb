"""A march whose derivatives are marches of the same kind, of any order.

    x⁺ = s(x, p, u)                          the march: x is carried, p held, u driven                           (1)
    ẋ⁺ = ∂s/∂x ẋ + ∂s/∂p ṗ + ∂s/∂u u̇        along: carries ẋ, driven by the states x and by u̇ besides         (2)
    λ = (∂s/∂x)ᵀ (λ⁺ + G)                    turned round: carries λ, from the last step to the first             (3)

(2) is linear in ẋ, ṗ and u̇, and (3) turns any linear march round: weights G of all results are driven, what was held
gathers its part step by step, and what was driven gets its own in every step. The steps of both are the derivatives
of `derivable`, so that each can be moved along and turned round in its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from appell.compile.export.derivable import Derivable
from appell.compile.function import Function
from appell.compile.graph import Graph
from appell.compile.marching.march import March
from appell.compile.native.making import MAKING
from appell.compile.splice import inline
from appell.compile.tape import Array, Tape
from appell.compile.trace import flatten, nest


@dataclass(frozen=True, eq=False)
class DerivableMarch:
    """A march, and the arguments in which it is linear: none, or all that it carries and some others."""

    march: March
    linear: tuple[int, ...] = ()  # positions
    backward: bool = False  # whether it begins with the last step
    _derived: dict = field(default_factory=dict, init=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DerivableMarch) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple:
        return self.march.step.formula.digest, self.carried, self.held, self.linear, self.backward

    @property
    def carried(self) -> int:
        return len(self.march.horizon.carried)

    @property
    def held(self) -> int:
        return len(self.march.horizon.held)

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.march.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.march.outputs

    def is_driven(self, position: int) -> bool:
        return position >= self.carried + self.held

    def is_held(self, position: int) -> bool:
        return self.carried <= position < self.carried + self.held

    def along(self, moved: Sequence[int]) -> DerivableMarch:
        """(2). Its arguments: directions of all that is carried; what is held, directions; states, what is driven,
        directions."""
        with MAKING:
            key = ("along", *moved)
            if key not in self._derived:
                self._derived[key] = self._along(sorted({*range(self.carried), *moved}))
            return self._derived[key]

    def transposed(self) -> DerivableMarch:
        """(3): λ and sums for what is held; what is held and not linear; what is driven and not linear, and weights."""
        with MAKING:
            if "transposed" not in self._derived:
                self._derived["transposed"] = self._transposed()
            return self._derived["transposed"]

    def _along(self, moved: list[int]) -> DerivableMarch:
        ahead, count = Derivable(self.march.step).along(moved), len(self.inputs)
        direction = {position: count + k for k, position in enumerate(moved)}
        held = [k for k in range(count) if self.is_held(k)]
        driven = [k for k in range(count) if self.is_driven(k)]
        order = [direction[k] for k in range(self.carried)]
        order += held + [direction[k] for k in held if k in direction]
        still = len(order)
        order += [*range(self.carried), *driven, *(direction[k] for k in driven if k in direction)]
        step = Function(_reordered(ahead.function.tape, order), "A step, along directions.", self.march.owner)
        linear = tuple(place for place, k in enumerate(order) if k >= count)
        return DerivableMarch(March(step, self.carried, still - self.carried), linear, self.backward)

    def _transposed(self) -> DerivableMarch:
        back = Derivable(self.march.step).transposed(self.linear).function.tape
        known = [k for k in range(len(self.inputs)) if k not in self.linear]
        gathered = [k for k in self.linear if self.is_held(k)]
        carried = {f"by_{k}": self.inputs[k].shape for k in (*range(self.carried), *gathered)}
        held = {f"known_{k}": self.inputs[k].shape for k in known if self.is_held(k)}
        driven = {f"known_{k}": self.inputs[k].shape for k in known if self.is_driven(k)}
        weights = {f"weight_{k}": array.shape for k, array in enumerate(self.outputs)}

        def body(*arguments):
            given = dict(zip([*carried, *held, *driven, *weights], arguments, strict=True))
            for k in range(self.carried):
                given[f"weight_{k}"] = _sum(given[f"weight_{k}"], given[f"by_{k}"])
            found = dict(
                zip(self.linear, inline(back, *(given[name] for name in [*held, *driven, *weights])), strict=True)
            )
            results = {f"by_{k}": found.pop(k) for k in range(self.carried)}
            results |= {f"by_{k}": _sum(given[f"by_{k}"], found.pop(k)) for k in gathered}
            return results | {f"by_{k}": gradient for k, gradient in found.items()}

        name = f"{self.march.name}_transposed"
        march = March.of(name, carried, held, driven | weights, body, owner=self.march.owner, doc="Steps, backwards.")
        start = len(march.inputs) - len(weights)
        return DerivableMarch(march, (*range(len(carried)), *range(start, len(march.inputs))), not self.backward)


def _reordered(tape: Tape, order: Sequence[int]) -> Tape:
    """The same function with its arguments in another order."""
    starts = [sum(array.size for array in tape.inputs[:k]) for k in range(len(tape.inputs))]
    number: dict[int, int] = {}
    for k in order:
        for element in range(tape.inputs[k].size):
            number[starts[k] + element] = len(number)
    graph = Graph()
    index = graph.splice(tape, [graph.input(number[k]) for k in range(tape.input_size)])
    inputs = [tape.inputs[k] for k in order]
    return graph.tape(tape.name, inputs, tape.outputs, [index[k] for k in tape.results])


def _sum(x, y):
    """Nested scalars, added one by one."""
    (left, shape), (right, _) = flatten(x), flatten(y)
    return nest([a + b for a, b in zip(left, right, strict=True)], shape)
