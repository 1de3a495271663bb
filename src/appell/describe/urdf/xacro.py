"""What is left of xacro in a URDF.

xacro is the macro language that most URDFs are written in. Its definitions (property, arg, macro) change nothing by
themselves. A tag that would have put something in its place (a macro's name, include, if) is passed over with a warning
if the robot is whole without it. If it is not, the file has to be run through xacro first, and the error says how.

A .xacro file is run through the package xacro where that is installed; lines are then those of the expansion. The text
is screened first: what declares entities is refused before xacro sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from appell.describe.xml import Element, parse
from appell.errors import DescriptionError

DEFINITIONS = ("property", "arg", "macro")
EXPRESSIONS = ("${", "$(")
LISTED = 5


def expanded(path: Path, text: str, arguments: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The URDF that xacro makes of a file, and how messages call it; the text as it is if there is nothing to expand.

    Without the package the text is left as it is: one that is whole can be read, another says how to run xacro.
    """
    document = parse(text, str(path))
    if not arguments and not any(True for _ in _calls(document)) and not any(map(_has_expression, _whole(document))):
        return text, str(path)
    try:
        import xacro
    except ImportError:
        if arguments:
            problem = "arguments are for the package xacro, which is not installed."
            raise DescriptionError(problem, source=str(path), hint="pip install xacro") from None
        return text, str(path)
    mappings = {str(key): str(value) for key, value in (arguments or {}).items()}
    try:
        made = xacro.process_file(str(path), mappings=mappings).toprettyxml(indent="  ")
    except SystemExit:
        raise DescriptionError("xacro gave up on this file.", source=str(path)) from None
    except Exception as error:  # it evaluates Python, which may fail in any way
        told = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"xacro cannot expand this: {told.rstrip('.')}.", source=str(path)) from None
    return made, f"the expansion of {path}"


def refuse_unprocessed(document: Element) -> None:
    """Raise if what is wrong with a document is that xacro has not been run."""
    calls = list(_calls(document))
    expressions = [element for element in _whole(document) if _has_expression(element)]
    if not (calls or expressions):
        return
    name = PurePath(document.source).name or "robot.urdf.xacro"
    stem = name.removesuffix(".xacro").removesuffix(".urdf")
    told = _listed(calls) or ", ".join(f"<{e.tag}> (line {e.line})" for e in expressions[:LISTED]) + " with ${...}"
    raise document.error(
        f"this is a xacro file, not a URDF: {told} must be expanded first.",
        expected="the URDF that xacro makes of it",
        hint=f"xacro {name} > {stem}{'_expanded' if name == f'{stem}.urdf' else ''}.urdf",
    )


def passed_over(document: Element) -> list[str]:
    """Tags that would have put something in their place."""
    told = _listed(list(_calls(document)))
    return [f"xacro's {told}"] if told else []


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


def _whole(document: Element) -> Iterator[Element]:
    waiting = [document]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)


def _has_expression(element: Element) -> bool:
    return any(mark in value for value in element.attributes.values() for mark in EXPRESSIONS)


def _listed(calls: list[Element]) -> str:
    listed = ", ".join(f"<{call.tag}> (line {call.line})" for call in calls[:LISTED])
    return listed + (f" and {len(calls) - LISTED} more" if len(calls) > LISTED else "")
