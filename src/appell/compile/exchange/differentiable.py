"""Functions and scans whose derivatives, of any order, are functions and scans again: the basis of JAX and PyTorch.

    along        (x, ẋ) ↦ J(x) ẋ         forward: the change of all results as arguments move, linear in ẋ
    transposed   (x, G) ↦ J(x)ᵀ G        backward: the transpose of a function that is linear in some arguments

Both are tapes again, so that each can be differentiated and transposed in turn. A library that works forward needs
`along`, one that works backward transposes `along`, and second derivatives are combinations of these. The transpose of
a linear function takes the arguments in which it is not linear, then one weight per result, and returns one result per
argument that was removed.

For a scan with the step s,

    x⁺ = s(x, p, u)                          x is carried, p held, u driven                                      (1)
    ẋ⁺ = ∂s/∂x ẋ + ∂s/∂p ṗ + ∂s/∂u u̇        along: carries ẋ, driven by the states x and by u̇ as well          (2)
    λ = (∂s/∂x)ᵀ (λ⁺ + G)                    transposed: carries λ, from the last step to the first              (3)

(2) is linear in ẋ, ṗ and u̇, and (3) transposes any linear scan: weights G of all results are driven, the gradients of
held arrays are summed step by step, and those of driven arrays are results of every step.

Derivatives are with respect to the elements of an argument, four for a quaternion, as these libraries expect. (The
`jacobian` of a function is along velocities instead.) See `tape.differentiate` for branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from appell.compile.cache.content_hash import content_hash
from appell.compile.cache.trace_cache import cached_trace
from appell.compile.function import MIN_CACHED_WORK, Function
from appell.compile.scan import Scan
from appell.compile.tape.differentiate import along, jacobian, seed, weighted
from appell.compile.tape.graph import Graph
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import flatten, inline, nest


@dataclass(frozen=True, eq=False)
class DifferentiableFunction:
    """A function, and the positions of the arguments in which it is linear; compared by content."""

    function: Function
    linear: tuple[int, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DifferentiableFunction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple:
        return self.function.formula.digest, self.linear

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Arguments of the function."""
        return self.function.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Results of the function."""
        return self.function.outputs

    def along(self, wrt: Sequence[int]) -> DifferentiableFunction:
        """Return the directional derivative with respect to these arguments; the directions are further arguments."""
        return self._derived("along", tuple(wrt), len(self.inputs))

    def transposed(self, removed: Sequence[int]) -> DifferentiableFunction:
        """Return the transpose with respect to the arguments at these positions, in which the function is linear."""
        return self._derived("transposed", tuple(removed), len(self.inputs) - len(removed))

    def pulled_back(self, wrt: Sequence[int]) -> DifferentiableFunction:
        """Return the gradient with respect to these arguments; weights of all results are the last arguments."""
        forward = self.along(wrt)
        return forward.transposed(forward.linear)

    def _derived(self, kind: str, positions: tuple[int, ...], first_linear: int) -> DifferentiableFunction:
        of, make = self.function, {"along": _along, "transposed": _transposed}[kind]

        def derive() -> Function:
            subject = (
                content_hash(kind, of.tape, positions) if len(of.tape) * len(of.inputs) > MIN_CACHED_WORK // 4 else None
            )
            return Function(cached_trace(subject, lambda: make(of.tape, positions)), f"{kind} of {of.name}.", of.owner)

        derived = of.memo((kind, positions), derive)
        return DifferentiableFunction(derived, tuple(range(first_linear, len(derived.inputs))))


@dataclass(frozen=True, eq=False)
class DifferentiableScan:
    """A scan, and the positions of the arguments in which it is linear: none, or all carried and some others."""

    scan: Scan
    linear: tuple[int, ...] = ()
    backward: bool = False  # whether it starts with the last step

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DifferentiableScan) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple:
        return self.scan.step.formula.digest, self.carried, self.held, self.linear, self.backward

    @property
    def carried(self) -> int:
        """Number of carried arguments."""
        return len(self.scan.arguments.carried)

    @property
    def held(self) -> int:
        """Number of held arguments."""
        return len(self.scan.arguments.held)

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Arguments of one step."""
        return self.scan.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Results of one step."""
        return self.scan.outputs

    def is_driven(self, position: int) -> bool:
        """Return whether the argument at a position is driven."""
        return position >= self.carried + self.held

    def is_held(self, position: int) -> bool:
        """Return whether the argument at a position is held."""
        return self.carried <= position < self.carried + self.held

    def along(self, wrt: Sequence[int]) -> DifferentiableScan:
        """Return the scan (2).

        Its arguments: directions of carried arrays; held arrays and their directions; states, driven arrays and their
        directions.
        """
        positions = sorted({*range(self.carried), *wrt})
        return self.scan.step.memo(("scan along", *self._key[1:], *wrt), lambda: self._along(positions))

    def transposed(self) -> DifferentiableScan:
        """Return the scan (3).

        Its arguments: λ, sums for held arrays; held and driven arrays in which the scan is not linear; weights.
        """
        return self.scan.step.memo(("scan transposed", *self._key[1:]), self._transposed)

    def _along(self, wrt: list[int]) -> DifferentiableScan:
        forward, count = DifferentiableFunction(self.scan.step).along(wrt), len(self.inputs)
        direction = {position: count + k for k, position in enumerate(wrt)}
        held = [k for k in range(count) if self.is_held(k)]
        driven = [k for k in range(count) if self.is_driven(k)]
        order = [direction[k] for k in range(self.carried)]
        order += held + [direction[k] for k in held if k in direction]
        fixed = len(order)
        order += [*range(self.carried), *driven, *(direction[k] for k in driven if k in direction)]
        step = Function(_reordered(forward.function.tape, order), "A step along directions.", self.scan.owner)
        linear = tuple(position for position, k in enumerate(order) if k >= count)
        return DifferentiableScan(Scan(step, self.carried, fixed - self.carried), linear, self.backward)

    def _transposed(self) -> DifferentiableScan:
        back = DifferentiableFunction(self.scan.step).transposed(self.linear).function.tape
        known = [k for k in range(len(self.inputs)) if k not in self.linear]
        summed = [k for k in self.linear if self.is_held(k)]
        carried = {f"by_{k}": self.inputs[k].shape for k in (*range(self.carried), *summed)}
        held = {f"known_{k}": self.inputs[k].shape for k in known if self.is_held(k)}
        driven = {f"known_{k}": self.inputs[k].shape for k in known if self.is_driven(k)}
        weights = {f"weight_{k}": array.shape for k, array in enumerate(self.outputs)}

        def body(*arguments):
            given = dict(zip([*carried, *held, *driven, *weights], arguments, strict=True))
            for k in range(self.carried):
                given[f"weight_{k}"] = _sum(given[f"weight_{k}"], given[f"by_{k}"])
            gradients = inline(back, *(given[name] for name in [*held, *driven, *weights]))
            by = dict(zip(self.linear, gradients, strict=True))
            results = {f"by_{k}": by.pop(k) for k in range(self.carried)}
            results |= {f"by_{k}": _sum(given[f"by_{k}"], by.pop(k)) for k in summed}
            return results | {f"by_{k}": gradient for k, gradient in by.items()}

        name = f"{self.scan.name}_transposed"
        scan = Scan.of(
            name, carried, held, driven | weights, body, owner=self.scan.owner, doc="Steps in reverse order."
        )
        start = len(scan.inputs) - len(weights)
        return DifferentiableScan(scan, (*range(len(carried)), *range(start, len(scan.inputs))), not self.backward)


def _along(tape: Tape, wrt: tuple[int, ...]) -> Tape:
    names = {array.name for array in tape.inputs}
    directions = [_named_apart(replace(tape.inputs[k], name=f"d{tape.inputs[k].name}"), names) for k in wrt]
    seeds = [seed(tape.inputs, tape.inputs[k].name) for k in wrt]
    return along(tape, f"{tape.name}_along_{'_'.join(tape.inputs[k].name for k in wrt)}", seeds, directions)


def _transposed(tape: Tape, removed: tuple[int, ...]) -> Tape:
    """Return the gradient of Σ G · results with respect to the arguments at these positions, which are removed."""
    wrt = [tape.inputs[k] for k in removed]
    remaining = [array for k, array in enumerate(tape.inputs) if k not in removed]
    names = {array.name for array in remaining}
    weights = [_named_apart(replace(array, name=f"G_{array.name}"), names) for array in tape.outputs]
    total = weighted(tape, f"{tape.name}_transposed", weights)
    gradient = jacobian(total, total.name, [seed(total.inputs, array.name) for array in wrt], [w.name for w in wrt])
    graph = Graph()
    numbers = iter(range(gradient.input_size))
    inputs = [  # the input that each scalar becomes
        graph.const(0.0) if k in removed else graph.input(next(numbers))
        for k, array in enumerate(total.inputs)
        for _ in range(array.size)
    ]
    index = graph.splice(gradient, inputs)
    outputs = [replace(array, name=f"g_{array.name}") for array in wrt]
    return graph.tape(total.name, (*remaining, *weights), outputs, [index[k] for k in gradient.results])


def _named_apart(array: Array, names: set[str]) -> Array:
    """Return the array with a name that is not in `names`, and add it there."""
    name = array.name
    while name in names:
        name += "_"
    names.add(name)
    return replace(array, name=name)


def _reordered(tape: Tape, order: Sequence[int]) -> Tape:
    """Return the same function with its arguments in another order."""
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
    """Return the elementwise sum of nested scalars."""
    (left, shape), (right, _) = flatten(x), flatten(y)
    return nest([a + b for a, b in zip(left, right, strict=True)], shape)
