"""What is left of xacro in a URDF.

xacro is the macro language that most URDFs are written in. Its definitions (property, arg, macro) change nothing by
themselves. A tag that would have put something in its place (a macro's name, include, if) is passed over with a warning
if the robot is whole without it. If it is not, the file has to be run through xacro first, and the error says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from appell.describe.xml import Element

DEFINITIONS = ("property", "arg", "macro")
EXPRESSIONS = ("${", "$(")
LISTED = 5


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
