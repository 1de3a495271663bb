"""Docstrings as they are written in this house, for Sphinx.

They are plain paragraphs with `code` in single backticks, and indented blocks that are to stay as they are: programs,
equations, tables. In reStructuredText the first would be references and the second quotations.
"""

from __future__ import annotations

import re

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SPECIAL = re.compile(r"([*|\\]|_\b)")


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    found: list[str] = []
    inside = False
    for line in lines:
        indented = line.startswith((" ", ">>>", "...")) or (inside and line and _is_answer(found, line))
        if indented and not inside:
            found += ["", ".. code-block:: text" if not line.startswith(">>>") else ".. code-block:: python", ""]
        if inside and line and not indented:
            found.append("")
        inside = indented or (inside and not line)
        found.append(f"   {line}" if indented else "" if not line else _prose(line))
    return found


def _is_answer(found: list[str], line: str) -> bool:
    """Whether a line is what a doctest printed: it follows the prompt without a gap."""
    return bool(found) and found[-1].strip().startswith((">>>", "..."))


def _prose(line: str) -> str:
    """One line of text: code is literal, and nothing else has a meaning."""
    parts = CODE.split(line)
    for k in range(0, len(parts), 2):
        parts[k] = SPECIAL.sub(r"\\\1", parts[k])
    return "".join(f"``{part}``" if k % 2 else part for k, part in enumerate(parts))


def setup(app):
    def process(app, what, name, obj, options, lines):
        lines[:] = restructured(lines)

    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}
