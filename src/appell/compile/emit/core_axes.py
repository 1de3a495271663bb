"""The core axes of a ufunc's operands, as NumPy's notation has them: "(6),(r,e)->(r,6)".

An axis is a length, or a name for one that a call settles. NumPy hands a loop one length for every *different* axis, in
the order in which they first occur, and one stride for every axis of every operand.

    a formula    each operand has the axes of its array
    its march    what is driven has rows of steps before them, (r, e), and what is told has rows, (r)
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.formula import Formula

Axes = tuple[int | str, ...]
ROWS, EVERY = "r", "e"


@dataclass(frozen=True)
class CoreAxes:
    """The axes of all inputs and all outputs."""

    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]

    @property
    def operands(self) -> tuple[Axes, ...]:
        return self.inputs + self.outputs

    @property
    def signature(self) -> str:
        sides = (",".join(f"({','.join(map(str, axes))})" for axes in side) for side in (self.inputs, self.outputs))
        return "->".join(sides)

    def dimension(self, axis: int | str) -> int:
        """Where the length of an axis stands in what NumPy hands a loop; before all others stands the batch's."""
        return 1 + [*dict.fromkeys(each for axes in self.operands for each in axes)].index(axis)


def formula_axes(formula: Formula) -> CoreAxes:
    """The axes of a formula's arrays."""
    return CoreAxes(tuple(x.shape for x in formula.inputs), tuple(x.shape for x in formula.outputs))


def march_axes(formula: Formula, still: int) -> CoreAxes:
    """The same if it is a step that is repeated; so many of its inputs stand still, and all others are driven."""
    plain = formula_axes(formula)
    driven: list[Axes] = [(ROWS, EVERY, *axes) for axes in plain.inputs[still:]]
    return CoreAxes((*plain.inputs[:still], *driven), tuple((ROWS, *axes) for axes in plain.outputs))
