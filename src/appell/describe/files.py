"""Read the text of a description, up to a size limit, and determine its format."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

from appell.describe.values import shortened
from appell.errors import DescriptionError

DECLARATION = '<?xml version="1.0" encoding="ISO-8859-1"?>'
FILE_KINDS = "a .urdf, .xacro, .xml (MJCF), .sdf or .toml file"
MAX_BYTES = 64 * 2**20  # the descriptions of the largest humanoids need less than 1 % of it


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file; the encoding is UTF-8 unless an XML declaration or a byte order mark differs."""
    source = shortened(str(path), 300).strip("'\"")
    if is_directory(path):
        raise DescriptionError("the path is a directory.", expected=FILE_KINDS, source=source)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(max_bytes + 1) if size <= max_bytes else b""
    except FileNotFoundError:
        raise DescriptionError("the file does not exist.", source=source) from None
    except OSError as error:
        raise DescriptionError(f"the file cannot be read: {error.strerror}.", source=source) from None
    except ValueError:
        raise DescriptionError("the path contains a character that is not allowed in paths.", source=source) from None
    if max(size, len(data)) > max_bytes:
        problem = f"the file has {max(size, len(data)) / 2**20:.0f} MB, which is too large for a robot description."
        raise DescriptionError(problem, expected=f"at most {max_bytes / 2**20:.0f} MB", source=source)
    encoding = _encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line, label = data.count(b"\n", 0, error.start) + 1, "UTF-8" if encoding == "utf-8-sig" else encoding
        hint = f"Save it as UTF-8, or declare its encoding: {DECLARATION}" if data.lstrip().startswith(b"<") else ""
        problem = f"the file is not valid {label} text."
        raise DescriptionError(problem, source=f"{source}, line {line}", hint=hint) from None


def is_directory(path: Path) -> bool:
    """Whether a path is an existing directory; False for a path that cannot exist."""
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


# ---- The format of a description: by its suffix, and for XML by its outermost tag


LEADING_CHARACTERS = "\ufeff \t\r\n"  # allowed before a text
SUFFIXES = {"urdf": "urdf", "toml": "toml", "xacro": "xacro", "mjcf": "mjcf", "xml": "mjcf", "sdf": "sdf"}
ROOTS = {"mujoco": "mjcf", "sdf": "sdf"}  # any other tag is left to the URDF reader
PRELUDE = re.compile(r"\s*(<\?.*?\?>|<!--.*?-->)", re.DOTALL)
TAG = re.compile(r"\s*<([A-Za-z_][\w.:-]*)")


def format_of_file(path: Path) -> str:
    """Return the format of a file by its suffix; empty if the suffix is unknown."""
    return SUFFIXES.get(path.suffix.lower().lstrip("."), "")


def format_of_text(source: str) -> str:
    """Return the format of a text that was passed instead of a path; empty if it looks like a path."""
    text = source.lstrip(LEADING_CHARACTERS)
    if text[:1] != "<":
        return "toml" if "\n" in source.strip() else ""
    return ROOTS.get(_outermost(text), "urdf")


def format_of_xml(text: str) -> str:
    """Return the format of a .xml file: MJCF, unless its outermost tag is that of another format."""
    return {"robot": "urdf", "sdf": "sdf"}.get(_outermost(text.lstrip(LEADING_CHARACTERS)), "mjcf")


def _outermost(text: str) -> str:
    at = 0
    while before := PRELUDE.match(text, at):
        at = before.end()
    tag = TAG.match(text, at)
    return tag[1] if tag else ""
