"""Files in and out: never more than a cap is read, never half a file is written."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

from appell.describe.values import shortened
from appell.errors import DescriptionError

DECLARATION = '<?xml version="1.0" encoding="ISO-8859-1"?>'
KINDS = "a .urdf, .xacro, .xml (MJCF), .sdf or .toml file"
LARGEST = 64 * 2**20  # bytes; the largest humanoids with all their meshes named need less than one percent of it


def read_text(path: Path, largest: int = LARGEST) -> str:
    """The text of a file: UTF-8, or what an XML declaration or a byte order mark says it is."""
    source = shortened(str(path), 300).strip("'\"")
    if is_directory(path):
        raise DescriptionError("this is a directory.", expected=KINDS, source=source)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(largest + 1) if size <= largest else b""
    except FileNotFoundError:
        raise DescriptionError("there is no such file.", source=source) from None
    except OSError as error:
        raise DescriptionError(f"the file cannot be read: {error.strerror}.", source=source) from None
    except ValueError:
        raise DescriptionError("the path holds a character that no path can hold.", source=source) from None
    if max(size, len(data)) > largest:
        problem = f"the file has {max(size, len(data)) / 2**20:.0f} MB, which no description of a robot needs."
        raise DescriptionError(problem, expected=f"at most {largest / 2**20:.0f} MB", source=source)
    encoding = _encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line, named = data.count(b"\n", 0, error.start) + 1, "UTF-8" if encoding == "utf-8-sig" else encoding
        hint = f"save it as UTF-8, or declare its encoding: {DECLARATION}" if data.lstrip().startswith(b"<") else ""
        problem = f"the file is not {named} text."
        raise DescriptionError(problem, source=f"{source}, line {line}", hint=hint) from None


def is_directory(path: Path) -> bool:
    """Whether there is such a directory; a path that cannot exist is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _encoding(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    declared = re.match(rb"\s*<\?xml[^>]{0,200}?encoding=[\"']([A-Za-z0-9._-]{1,40})[\"']", data[:300])
    try:
        name = codecs.lookup(declared[1].decode()).name if declared else "utf-8"
        return "utf-8-sig" if name in ("utf-8", "ascii") else name
    except LookupError:
        return "utf-8-sig"


# ---- Which format a description is in: by its suffix, and for XML by its outermost tag


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
