"""The arguments and results of a function as C spells them.

    void puma_inverse_dynamics(const double q[6], const double v[6], const double a[6], double tau[6]);
    void puma_inverse_dynamics_batch(size_t n_, const double *q, const double *v, const double *a, double *tau);

An array is flat, row by row; a scalar argument goes by value. In a batch, element k of sample i is x[k * n_ + i].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from appell.compile.export.c.names import argument_name
from appell.compile.formula import Formula
from appell.compile.tape import Array
from appell.errors import CompileError


@dataclass(frozen=True)
class Signature:
    """What a function takes and gives; `real` is the type of its numbers."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    real: str

    @classmethod
    def of(cls, formula: Formula, real: str) -> Signature:
        """That of a formula; an argument and a result of one name are `q` and `q_next`."""
        taken: set[str] = set()
        arrays: list[Array] = []
        if not formula.inputs or not formula.outputs:
            raise CompileError(
                f"'{formula.name}' has no {'results' if formula.inputs else 'arguments'}, as C needs them."
            )
        for array in (*formula.inputs, *formula.outputs):
            if array.size == 0:
                raise CompileError(f"'{formula.name}': {array} is empty, and C has no empty arrays.")
            name = array.name
            while name in taken:
                name += "_next"
            taken.add(argument_name(f"argument or result of {formula.name}", name))
            arrays.append(Array(name, array.shape))
        split = len(formula.inputs)
        return cls(tuple(arrays[:split]), tuple(arrays[split:]), real)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return self.inputs + self.outputs

    @property
    def single(self) -> str:
        """The parameters of the function for one sample."""
        return ", ".join([*map(self.argument, self.inputs), *map(self.result, self.outputs)])

    def argument(self, array: Array) -> str:
        return f"const {self.real} {array.name}[{array.size}]" if array.shape else f"{self.real} {array.name}"

    def result(self, array: Array) -> str:
        return f"{self.real} {array.name}[{array.size}]"

    @property
    def pointers(self) -> str:
        """The parameters of everything else."""
        inputs = [f"const {self.real} *{array.name}" for array in self.inputs]
        return ", ".join([*inputs, *(f"{self.real} *{array.name}" for array in self.outputs)])

    @property
    def addresses(self) -> str:
        """What the function for one sample hands to those."""
        inputs = [array.name if array.shape else f"&{array.name}" for array in self.inputs]
        return ", ".join([*inputs, *(array.name for array in self.outputs)])

    @property
    def lanes(self) -> str:
        """The same for lane l_ of a block: arguments where they are, results on the stack."""
        inputs = [f"{array.name} + i_ + l_" for array in self.inputs]
        return ", ".join([*inputs, *(f"{array.name}_ + l_" for array in self.outputs)])

    def elements(self) -> Iterator[tuple[Array, int]]:
        """The array and the place in it of every scalar input, in order."""
        for array in self.inputs:
            yield from ((array, k) for k in range(array.size))

    def places(self) -> Iterator[tuple[Array, int]]:
        """The same of every result."""
        for array in self.outputs:
            yield from ((array, k) for k in range(array.size))


def element(array: Array, k: int, stride: str) -> str:
    """One number of an array of which the neighbours are so far apart."""
    return f"{array.name}[{k} * {stride}]" if k else f"{array.name}[0]"
