"""Arguments and results of a function in C, and the names that C accepts.

    void puma_inverse_dynamics(const double q[6], const double v[6], const double a[6], double tau[6]);
    void puma_inverse_dynamics_batch(size_t n_, const double *q, const double *v, const double *a, double *tau);

An array is flat, row by row; a scalar argument is passed by value. In a batch, element k of sample i is x[k * n_ + i].

Every symbol of an exported file begins with the same name, so that two files never collide in a program. Names of
arguments stay as they are in Python; they are refused if C or the exported code uses them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from appell.compile.tape.formula import Formula
from appell.compile.tape.tape import Array
from appell.errors import ArgumentError, CompileError

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Imaginary asm main
alignas alignof bool catch class constexpr const_cast decltype delete dynamic_cast explicit export false friend
mutable namespace new noexcept nullptr operator private protected public reinterpret_cast static_assert
static_cast template this thread_local throw true try typeid typename using virtual wchar_t
"""
_LIBRARY = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
fmin fmod frexp gamma hypot ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb
lrint lround memchr memcmp memcpy memmove memset modf nan nearbyint nextafter nexttoward pow printf remainder remquo
rint round scalbln scalbn signbit signgam sin sinh size_t sqrt step strcat strchr strcmp strcpy strlen tan tanh tgamma
trunc y0 y1 yn
"""
RESERVED = frozenset(_WORDS.split())
TAKEN = frozenset(_LIBRARY.split())  # by the headers and libraries of a program
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_OURS = re.compile(r"[a-z]+_|[txy][0-9]+")  # what the code calls its own variables
_LONGEST = 200


def c_name(what: str, name: object) -> str:
    """The name, if C and C++ take it as an identifier."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or len(name) > _LONGEST:
        shown = repr(name)[:_LONGEST]
        raise ArgumentError(
            f"{what} {shown} is no identifier of C.", expected="letters, digits and '_', beginning with a letter"
        )
    if name in RESERVED:
        raise ArgumentError(f"{what} '{name}' is a reserved word of C or C++.", expected="another name")
    return name


def function_name(name: object) -> str:
    """The name of a function that is exported: none that the library of C has."""
    if c_name("name", name) in TAKEN:
        raise ArgumentError(f"name '{name}' is that of a function of C's library.", expected=f"such as 'arm_{name}'")
    return str(name)


def argument_name(what: str, name: str) -> str:
    """The name of an argument, if the exported code does not use it itself."""
    if _OURS.fullmatch(c_name(what, name)):
        raise ArgumentError(
            f"{what} '{name}' is what the exported code calls a variable of its own.",
            expected="a name that does not end in '_' and is no 't', 'x' or 'y' with a number",
        )
    return name


def identifier(text: str) -> str:
    """A text as an identifier: what C does not take becomes '_'."""
    found = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return found if found[:1].isalpha() else f"f_{found}".rstrip("_")


def quoted_owner(owner: str) -> str:
    """The name that an owner has in quotes: puma of "robot 'puma'"; nothing if there is none."""
    found = re.search(r"'(.*)'", owner)
    return found[1] if found else ""


def comment(text: str) -> str:
    """A text that cannot end the comment it stands in."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").rstrip("\\")


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
