"""Which format a description is in: by its suffix, and for XML by its outermost tag."""

from __future__ import annotations

import re
from pathlib import Path

BEFORE = "\ufeff \t\r\n"  # what may stand before a text
SUFFIXES = {"urdf": "urdf", "toml": "toml", "xacro": "xacro", "mjcf": "mjcf", "xml": "mjcf", "sdf": "sdf"}
ROOTS = {"mujoco": "mjcf", "sdf": "sdf"}  # any other tag is for the reader of URDF to judge
PRELUDE = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->)", re.DOTALL)
TAG = re.compile(r"\s*<([A-Za-z_][\w.:-]*)")


def format_of_file(path: Path) -> str:
    """The format that a suffix stands for; empty if it is none of ours."""
    return SUFFIXES.get(path.suffix.lower().lstrip("."), "")


def format_of_text(source: str) -> str:
    """The format of a text that was handed over in place of a path; empty if it looks like a path."""
    text = source.lstrip(BEFORE)
    if text[:1] != "<":
        return "toml" if "\n" in source.strip() else ""
    return ROOTS.get(_outermost(text), "urdf")


def format_of_xml(text: str) -> str:
    """The format of a file that is called .xml: MJCF, unless its outermost tag is another's."""
    return {"robot": "urdf", "sdf": "sdf"}.get(_outermost(text.lstrip(BEFORE)), "mjcf")


def _outermost(text: str) -> str:
    at = 0
    while before := PRELUDE.match(text, at):
        at = before.end()
    tag = TAG.match(text, at)
    return tag[1] if tag else ""
