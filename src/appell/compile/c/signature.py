"""Arguments and results of a function in C, and the names that C accepts.

    void puma_inverse_dynamics(const double q[6], const double v[6], const double a[6], double tau[6]);
    void puma_inverse_dynamics_batch(size_t n_, const double *q, const double *v, const double *a, double *tau);

An array is flat, row by row; a scalar argument is passed by value. In a batch, element k of sample i is x[k * n_ + i].

Every symbol of an exported file has the same prefix, so that two files never collide in a program. Names of arguments
are those of the Python function; they are rejected if C or the exported code uses them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from appell.compile.tape.formula import Formula, check_arrays
from appell.compile.tape.tape import Array
from appell.errors import ArgumentError

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
LIBRARY_NAMES = frozenset(_LIBRARY.split())  # declared by standard headers and libraries
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_GENERATED_NAMES = re.compile(r"\w+_|[txy][0-9]+")  # of variables in the exported code
_MAX_NAME_LENGTH = 200


def c_name(what: str, name: object) -> str:
    """Return the name if it is a valid identifier of C and C++; otherwise raise an error that calls it `what`."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or len(name) > _MAX_NAME_LENGTH:
        shown = repr(name)[:_MAX_NAME_LENGTH]
        raise ArgumentError(
            f"{what} {shown} is not an identifier of C.",
            expected=f"a letter, followed by letters, digits and '_', at most {_MAX_NAME_LENGTH} characters",
        )
    if name in RESERVED:
        raise ArgumentError(f"{what} '{name}' is a reserved word of C or C++.", expected="another name")
    return name


def function_name(name: object) -> str:
    """Return the name of an exported function; raise an error if the C library has a function of that name."""
    if c_name("name", name) in LIBRARY_NAMES:
        raise ArgumentError(
            f"name '{name}' is the name of a function of the C library.",
            hint=f"Use another name, such as 'arm_{name}'.",
        )
    return str(name)


def argument_name(what: str, name: str) -> str:
    """Return the name of an argument; raise an error if the exported code uses it for a variable."""
    if _GENERATED_NAMES.fullmatch(c_name(what, name)):
        raise ArgumentError(
            f"{what} '{name}' has the name of a variable of the exported code.",
            expected="a name that does not end in '_' and is not 't', 'x' or 'y' followed by a number",
        )
    return name


def identifier(text: str) -> str:
    """Return a text as an identifier; characters that C does not accept become '_'."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return name if name[:1].isalpha() else f"f_{name}".rstrip("_")


def identifiers(names: Sequence[str], is_valid: Callable[[str], bool]) -> list[str]:
    """Return distinct names for a language; a name that is not valid there, or not the first of its kind, is replaced.

    Parameters
    ----------
    names : names of arrays or functions, which may contain any characters
    is_valid : whether the language accepts a name
    """
    valid = set(filter(is_valid, names))
    chosen: dict[str, str] = {}  # in order; from the new name to the old one
    for name in names:
        base = identifier(name)
        candidates = chain((name, base), (f"{base}_{number}" for number in count(2)))
        new = next(x for x in candidates if is_valid(x) and x not in chosen and (x == name or x not in valid))
        chosen[new] = name
    return list(chosen)


def quoted_owner(owner: str) -> str:
    """Return the quoted name of an owner, such as puma in "robot 'puma'"; empty if there is none."""
    match = re.search(r"'(.*)'", owner)
    return match[1] if match else ""


def comment(text: str) -> str:
    """Return a text without characters that would end a comment."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").rstrip("\\")


@dataclass(frozen=True)
class Signature:
    """Arguments and results of a function in C; `real` is the type of its numbers."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    real: str

    @classmethod
    def of(cls, formula: Formula, real: str) -> Signature:
        """Return the signature of a formula; a result with the name of an argument `q` is called `q_next`."""
        names: set[str] = set()
        arrays: list[Array] = []
        check_arrays(formula)
        for array in (*formula.inputs, *formula.outputs):
            name = array.name
            while name in names:
                name += "_next"
            names.add(argument_name(f"argument or result of {formula.name}", name))
            arrays.append(Array(name, array.shape))
        split = len(formula.inputs)
        return cls(tuple(arrays[:split]), tuple(arrays[split:]), real)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Arguments, then results."""
        return self.inputs + self.outputs

    @property
    def single(self) -> str:
        """Parameters of the function for one sample."""
        return ", ".join([*map(self.argument, self.inputs), *map(self.result, self.outputs)])

    def argument(self, array: Array) -> str:
        """Return the declaration of an argument."""
        return f"const {self.real} {array.name}[{array.size}]" if array.shape else f"{self.real} {array.name}"

    def result(self, array: Array) -> str:
        """Return the declaration of a result."""
        return f"{self.real} {array.name}[{array.size}]"

    @property
    def pointers(self) -> str:
        """Parameters of all other functions."""
        inputs = [f"const {self.real} *{array.name}" for array in self.inputs]
        return ", ".join([*inputs, *(f"{self.real} *{array.name}" for array in self.outputs)])

    @property
    def addresses(self) -> str:
        """Arguments with which the function for one sample calls the others."""
        inputs = [array.name if array.shape else f"&{array.name}" for array in self.inputs]
        return ", ".join([*inputs, *(array.name for array in self.outputs)])

    @property
    def lanes(self) -> str:
        """The same for lane l_ of a block: arguments in the arrays of the caller, results on the stack."""
        inputs = [f"{array.name} + i_ + l_" for array in self.inputs]
        return ", ".join([*inputs, *(f"{local_name(array)} + l_" for array in self.outputs)])

    def elements(self) -> Iterator[tuple[Array, int]]:
        """Yield the array and the index in it of every scalar input, in order."""
        for array in self.inputs:
            yield from ((array, k) for k in range(array.size))

    def result_elements(self) -> Iterator[tuple[Array, int]]:
        """Yield the same for every scalar result."""
        for array in self.outputs:
            yield from ((array, k) for k in range(array.size))


def local_name(array: Array) -> str:
    """Return the name of a local copy of an array; other local variables have names of one word: k_, frame_."""
    return f"{array.name}_local_"


def element(array: Array, k: int, stride: str) -> str:
    """Return the expression of element k of an array whose elements are `stride` apart."""
    return f"{array.name}[{k} * {stride}]" if k else f"{array.name}[0]"
