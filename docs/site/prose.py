"""Docstrings of appell as reStructuredText, for Sphinx.

Docstrings are plain paragraphs with `code` in single backticks, indented blocks that stay as they are (programs,
equations, tables), doctests, and sections in NumPy style. In reStructuredText the backticks would be references, the
indented blocks quotations, and the underlined headings of the sections an error.
"""

from __future__ import annotations

import re

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SPECIAL = re.compile(r"([*|\\]|_\b)")
ENTRIES = {"Parameters", "Returns", "Yields", "Raises", "Warns", "Attributes", "See Also"}  # lists of terms
SECTIONS = ENTRIES | {"Examples", "Notes", "References"}


def restructured(lines: list[str]) -> list[str]:
    """Convert the lines of a docstring to reStructuredText."""
    output: list[str] = []
    in_block = in_doctest = in_entries = False
    rest = iter(zip(lines, [*lines[1:], ""], strict=True))
    for line, following in rest:
        if line in SECTIONS and following and set(following) == {"-"}:
            output += ["", f"**{line}**", ""]
            in_block, in_entries = False, line in ENTRIES
            next(rest)
        elif in_entries:
            if line and not line.startswith(" ") and output[-1]:
                output.append("")  # an entry may lack a description
            output.append(_entry(line))
        else:
            indented = line.startswith((" ", ">>>", "...")) or bool(in_block and line and in_doctest and output[-1])
            in_doctest = line.startswith(">>>") or (in_doctest and indented)
            if indented and not in_block:
                output += ["", ".. code-block:: python" if line.startswith(">>>") else ".. code-block:: text", ""]
            if in_block and line and not indented:
                output.append("")
            in_block = indented or (in_block and not line)
            output.append(f"   {line}" if indented else _prose(line))
    return output


def _entry(line: str) -> str:
    """Convert one line of a section with entries: `name : type`, or an indented description."""
    if line.startswith(" "):
        return f"   {_prose(line.removeprefix('    '))}"
    name, colon, kind = line.partition(" : ")
    return f"``{name}`` : {_prose(kind)}" if colon else _prose(line)


def _prose(line: str) -> str:
    """Convert one line of text: code is literal, special characters are escaped."""
    parts = CODE.split(line)
    for k in range(0, len(parts), 2):
        parts[k] = SPECIAL.sub(r"\\\1", parts[k])
    return "".join(f"``{part}``" if k % 2 else part for k, part in enumerate(parts))


def setup(app):
    def process(app, what, name, obj, options, lines):
        lines[:] = restructured(lines)

    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}
