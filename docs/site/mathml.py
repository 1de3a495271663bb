"""Formulas as MathML, which browsers display without scripts and without network access.

Browsers ignore `mathvariant="bold"`, so bold letters become the bold letters of Unicode.
"""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert

BOLD = re.compile(r'<m[in] mathvariant="bold(?:-italic)?">(?:(\w)|(&#x[0-9A-F]+;))</m[in]>')
GREEK = {"&#x003B1;": "𝛂", "&#x003C9;": "𝛚", "&#x003C1;": "𝛒", "&#x003D5;": "𝛟", "&#x003C6;": "𝛗"}


def mathml(latex: str, display: str = "inline") -> str:
    return BOLD.sub(_bold, convert(latex, display=display))


def _bold(match: re.Match) -> str:
    letter = match[1] or GREEK.get(match[2], match[2])
    if letter.isascii() and letter.isalpha():
        first = 0x1D400 if letter.isupper() else 0x1D41A
        letter = chr(first + ord(letter) - ord("A" if letter.isupper() else "a"))
    elif letter.isascii() and letter.isdigit():
        letter = chr(0x1D7CE + int(letter))
    return f'<mi mathvariant="normal">{letter}</mi>'


def inline(self, node):
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(self, node):
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    self.body.append(f'<div class="math">{number}{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
