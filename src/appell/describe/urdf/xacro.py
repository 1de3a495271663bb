"""Expand xacro files, and handle leftover xacro tags in a URDF.

xacro is the macro language in which most URDFs are written. Its definitions (property, arg, macro) have no effect by
themselves. A tag that would have been replaced (a macro call, include, if) is ignored with a warning if the rest
describes a robot. Otherwise the file must be expanded with xacro first, and the error says how.

A .xacro file is expanded with the package xacro if that is installed; line numbers are then those of the expansion. The
text is parsed first, so that entity declarations are rejected before xacro processes them. The names of included files
may be expressions, so these files are checked after the expansion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from appell.describe.files import read_text
from appell.describe.xml import Element, parse
from appell.errors import DescriptionError

DEFINITIONS = ("property", "arg", "macro")
EXPRESSIONS = ("${", "$(")
MAX_LISTED = 5  # tags listed in a message


def expanded(path: Path, text: str, arguments: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return the expansion of a xacro file, and its name in messages.

    The text is returned unchanged if it contains nothing to expand, or if the package xacro is not installed; reading
    it then raises an error that says how to run xacro, if that is necessary.

    Parameters
    ----------
    path, text : the file and its content
    arguments : values of xacro arguments
    """
    document = parse(text, str(path))
    if (
        not arguments
        and not any(True for _ in _calls(document))
        and not any(map(_has_expression, _all_elements(document)))
    ):
        return text, str(path)
    try:
        import xacro
    except ImportError:
        if arguments:
            problem = "arguments= requires the package xacro, which is not installed."
            raise DescriptionError(problem, source=str(path), hint="pip install xacro") from None
        return text, str(path)
    mappings = {str(key): str(value) for key, value in (arguments or {}).items()}
    included_before = len(xacro.all_includes)
    try:
        expansion = xacro.process_file(str(path), mappings=mappings).toprettyxml(indent="  ")
    except SystemExit:
        raise DescriptionError("xacro failed to expand this file.", source=str(path)) from None
    except Exception as error:  # it evaluates Python expressions, which may fail in any way
        message = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"xacro cannot expand this file: {message.rstrip('.')}.", source=str(path)) from None
    for included in map(Path, xacro.all_includes[included_before:]):
        if included.is_file() and "<!DOCTYPE" in (included_text := read_text(included)):
            parse(included_text, str(included))
    return expansion, f"the expansion of {path}"


def check_expanded(document: Element) -> None:
    """Raise DescriptionError if a document contains xacro tags or expressions that must be expanded first."""
    calls = list(_calls(document))
    expressions = [element for element in _all_elements(document) if _has_expression(element)]
    if not (calls or expressions):
        return
    name = PurePath(document.source).name or "robot.urdf.xacro"
    stem = name.removesuffix(".xacro").removesuffix(".urdf")
    culprits = _listed(calls)
    if not calls:
        culprits = ", ".join(f"<{e.tag}> (line {e.line})" for e in expressions[:MAX_LISTED]) + " with ${...}"
    raise document.error(
        f"the file is xacro, not URDF: {culprits} must be expanded first.",
        expected="the URDF that xacro generates from it",
        hint=f"xacro {name} > {stem}{'_expanded' if name == f'{stem}.urdf' else ''}.urdf",
    )


def unexpanded_tags(document: Element) -> list[str]:
    """Return a note about xacro tags that would have been replaced, if there are any."""
    calls = _listed(list(_calls(document)))
    return [f"the xacro tags {calls}"] if calls else []


def _calls(document: Element) -> Iterator[Element]:
    prefixes = tuple(f"{prefix}:" for prefix in _prefixes(document))
    definitions = {prefix + name for prefix in prefixes for name in DEFINITIONS}
    waiting = list(reversed(document.children))
    while waiting:
        element = waiting.pop()
        if element.tag in definitions:
            continue
        if element.tag.startswith(prefixes):
            yield element
        waiting += reversed(element.children)


def _prefixes(document: Element) -> set[str]:
    named = (key.removeprefix("xmlns:") for key, value in document.attributes.items() if "xacro" in value.lower())
    return {"xacro", *named}


def _all_elements(document: Element) -> Iterator[Element]:
    waiting = [document]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)


def _has_expression(element: Element) -> bool:
    return any(mark in value for value in element.attributes.values() for mark in EXPRESSIONS)


def _listed(calls: list[Element]) -> str:
    listed = ", ".join(f"<{call.tag}> (line {call.line})" for call in calls[:MAX_LISTED])
    return listed + (f" and {len(calls) - MAX_LISTED} more" if len(calls) > MAX_LISTED else "")
