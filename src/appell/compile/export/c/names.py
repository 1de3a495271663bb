"""Names in C: which are allowed, and what becomes of a text in a comment.

Every symbol of an exported file begins with the same name, so that two files never meet in a program. Names of
arguments stay as they are in Python; they are refused if C or the exported code has another use for them.
"""

from __future__ import annotations

import re

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
