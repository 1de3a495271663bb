"""Reduce a failing case to a small one that still fails in the same way.

The reduction is greedy: the first of the smaller cases of a target that fails replaces the case. This is repeated until
none of them fails, or the limit on candidates or time is reached.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.fuzz.worker import Worker

MAX_CANDIDATES = 1500
MAX_SECONDS = 60.0  # wall-clock time


def minimise(
    target: Target, case: Case, verdict: Verdict, worker: Worker, seconds: float = MAX_SECONDS
) -> tuple[Case, Verdict]:
    """Return the smallest case that fails with a problem of the same kind, and its verdict.

    Parameters
    ----------
    target : the target
    case, verdict : the failing case and its verdict
    worker : process in which candidates are checked
    seconds : limit on the wall-clock time
    """
    until, candidates, reduced = time.monotonic() + seconds, 0, True
    while reduced:
        reduced = False
        for candidate in target.smaller(case):
            if candidates >= MAX_CANDIDATES or time.monotonic() > until:
                return case, verdict
            candidates += 1
            new_verdict, _ = worker.check(candidate)
            if new_verdict.kind == verdict.kind and new_verdict.problem:
                case, verdict, reduced = candidate, new_verdict, True
                break
    return case, verdict


def shorter(text: str, smallest: int = 1) -> Iterator[str]:
    """Yield the text without one of its parts: halves first, then smaller parts down to `smallest` characters."""
    size = len(text) // 2
    while size >= smallest:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2
