"""What a command found: plain data first, of which the terminal gets a table and a program JSON.

A number is in SI units and in full; `units` beside it, or `unit` in its row, says which. Where there is no finite
number, JSON has null.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import typer
from rich import box
from rich.markup import escape
from rich.table import Table


def tell(answer: Any) -> None:
    """The answer as JSON on stdout, in letters that stdout has."""
    plain = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
    typer.echo(json.dumps(as_data(answer), indent=1, ensure_ascii=plain, allow_nan=False))


def as_data(thing: Any) -> Any:
    """The same in what JSON knows: NumPy's numbers as Python's, what is not finite as None, all else by its name."""
    match thing:
        case None | bool() | str() | int():
            return thing
        case float() | np.floating():
            return float(thing) if math.isfinite(thing) else None
        case np.bool_() | np.integer():
            return thing.item()
        case complex() | np.complexfloating():
            return {"real": as_data(thing.real), "imaginary": as_data(thing.imag)}
        case np.ndarray():
            return [as_data(each) for each in thing] if thing.ndim else as_data(thing[()])
        case Mapping():
            return {str(key): as_data(value) for key, value in thing.items()}
        case Iterable():
            return [as_data(each) for each in thing]
    return str(thing)


class Markup(str):
    """A cell that is not text as it is, but coloured by hand."""


Heads = Mapping[str, Any]  # key of a row -> heading, or heading and form: "name", ("mass, kg", ".4g")


def table(rows: Iterable[Mapping[str, Any]], heads: Heads, title: str = "", caption: str = "") -> Table:
    """Rows as a table: text to the left as it is, numbers to the right in the form that their heading has."""
    made = Table(box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", caption_justify="left")
    made.title, made.caption = escape(title) or None, escape(caption) or None
    forms = {key: head if isinstance(head, tuple) else (head, None) for key, head in heads.items()}
    for k, (heading, form) in enumerate(forms.values()):
        made.add_column(escape(heading), justify="left" if form is None else "right", style="" if k else "bold")
    for row in rows:
        made.add_row(*(_cell(row.get(key), form) for key, (_, form) in forms.items()))
    return made


def _cell(value: Any, form: str | None) -> str:
    if value is None or isinstance(value, Markup):
        return value or ""
    return escape(str(value)) if form is None or isinstance(value, str) else format(value, form)
