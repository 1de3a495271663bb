"""From a case that fails to a small one that still fails in the same way.

Greedy: of the smaller cases that a hunt offers, the first that fails takes the place of the case, and so on until none
of them does, or until enough have been tried.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from appell_lab.fuzz.target import Case, Hunt, Verdict
from appell_lab.fuzz.watched import Watched

TRIES = 1500
SECONDS = 60.0


def minimise(
    hunt: Hunt, case: Case, verdict: Verdict, watched: Watched, seconds: float = SECONDS
) -> tuple[Case, Verdict]:
    """The smallest case found that fails in the same kind, and what came of it."""
    until, tries, shrunk = time.monotonic() + seconds, 0, True
    while shrunk:
        shrunk = False
        for candidate in hunt.smaller(case):
            if tries >= TRIES or time.monotonic() > until:
                return case, verdict
            tries += 1
            found, _ = watched.check(candidate)
            if found.kind == verdict.kind and found.problem:
                case, verdict, shrunk = candidate, found, True
                break
    return case, verdict


def shorter(text: str, finest: int = 1) -> Iterator[str]:
    """A text without stretches of it: halves first, then ever smaller ones down to `finest` characters."""
    size = len(text) // 2
    while size >= finest:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2
