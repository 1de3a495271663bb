"""One LLVM module as several, so that several cores can make their machine code.

A long tape is cut into functions that call nothing but each other. They are dealt out in the order of the text, about
equally long shares of it to each part. A function that another part calls changes from `internal` to `hidden`: it is
seen by the objects it is linked with, and by nothing else. Constants and metadata go along with all functions that name
them, a variable with the one part that does. No instruction changes, and none is optimised across functions, so the
parts compute the bits of the whole.

What is taken for granted of the text: constants, metadata and `define` begin a line, and a function ends with a line
that is `}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.errors import CompileError

SMALLEST = 30_000  # characters of a part: about thirty milliseconds of code generation

_HEADER = re.compile(r"define (?:internal )?(?P<kind>.+?) @(?P<name>\w+)\((?P<arguments>.*)\)(?P<rest>.*) \{\n")
_NAME = re.compile(r"@(?!llvm\.)([\w.]+)")
_ARGUMENT = re.compile(r" %\w+")


@dataclass(frozen=True)
class _Function:
    text: str

    @cached_property
    def header(self) -> re.Match[str]:
        if (found := _HEADER.match(self.text)) is None:
            raise CompileError(f"LLVM text has a function whose header is '{self.text.partition(chr(10))[0]}'.")
        return found

    @property
    def name(self) -> str:
        return self.header["name"]

    @cached_property
    def uses(self) -> set[str]:
        """The names that its text mentions, intrinsics aside."""
        return set(_NAME.findall(self.text))

    @property
    def shared(self) -> str:
        """The function for other objects of the same library to call."""
        return self.text.replace("define internal ", "define hidden ", 1)

    @property
    def declared(self) -> str:
        """The function as one that another object has."""
        part = self.header
        return f"declare hidden {part['kind']} @{part['name']}({_ARGUMENT.sub('', part['arguments'])}){part['rest']}\n"


def split(text: str, most: int) -> list[str]:
    """The module as at most so many, of no less than `SMALLEST` characters each; short ones stay whole."""
    count = min(most, len(text) // SMALLEST)
    if count < 2:
        return [text]
    outside, functions = _parsed(text)
    parts = _dealt(functions, count)
    home = {function.name: number for number, part in enumerate(parts) for function in part}
    known = {function.name: function for function in functions}
    used = [set().union(*(function.uses for function in part)) for part in parts]
    wanted = {name for number, names in enumerate(used) for name in names if home.get(name, number) != number}
    owned = {line[1 : line.index(" ")] for line in outside if line[0] == "@" and " private " not in line}
    if any(sum(name in names for names in used) > 1 for name in owned):
        return [text]  # a variable that is one, however many parts there are
    modules = []
    for number, part in enumerate(parts):
        lines = [line for line in outside if line.startswith("!") or line[1 : line.index(" ")] in used[number]]
        lines += [known[name].declared for name in sorted(used[number]) if home.get(name, number) != number]
        lines += [function.shared if function.name in wanted else function.text for function in part]
        modules.append("\n".join([*lines, ""]))
    return modules


def _parsed(text: str) -> tuple[list[str], list[_Function]]:
    """The lines outside functions, and the functions."""
    outside: list[str] = []
    functions: list[_Function] = []
    *pieces, rest = text.split("\n}\n")
    for piece in pieces:
        before, _, function = f"\n{piece}".rpartition("\ndefine ")
        outside += before.splitlines()
        functions.append(_Function(f"define {function}\n}}\n"))
    return [line for line in (*outside, *rest.splitlines()) if line], functions


def _dealt(functions: Sequence[_Function], count: int) -> list[list[_Function]]:
    """The functions in order, in so many groups of about equal length, or fewer if there are not so many."""
    total, before = sum(len(function.text) for function in functions), 0
    groups: dict[int, list[_Function]] = {}
    for function in functions:
        middle = before + len(function.text) / 2
        groups.setdefault(int(count * middle / total), []).append(function)
        before += len(function.text)
    return list(groups.values())
