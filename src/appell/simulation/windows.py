"""When a wall is there: spans of time, ascending."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from appell.errors import ArgumentError

Spans = tuple[tuple[float, float], ...]
ALWAYS: Spans = ((-math.inf, math.inf),)


def windows(given: Any) -> Spans | None:
    """The spans that a user gave: none (always), one pair, or several in their order."""
    if given is None:
        return None
    wrong = ArgumentError(
        f"a contact is there during {given!r}.",
        expected="(t0, t1) in seconds with t0 < t1, or several such pairs, one after the other",
    )
    try:
        pairs = list(given)
        if len(pairs) == 2 and all(isinstance(x, (int, float)) for x in pairs):
            pairs = [pairs]
        spans = tuple((float(low), float(high)) for low, high in pairs)
    except (TypeError, ValueError):
        raise wrong from None
    edges = [edge for span in spans for edge in span]
    grow = all(a < b for a, b in spans) and all(a <= b for a, b in pairwise(edges))
    if not spans or not grow or any(math.isnan(edge) for edge in edges):
        raise wrong
    return spans
