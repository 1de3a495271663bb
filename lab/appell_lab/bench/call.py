"""One sample per call from Python: the ufunc, and the function bound to its arrays, against `pin.rnea`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from appell_lab.bench.aims import aim
from appell_lab.bench.clock import TimedStatement, time_in_turns
from appell_lab.bench.figure import Figure
from appell_lab.bench.subject import Subject, pinocchio, random_states


def measure(subject: Subject, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure inverse dynamics called in three ways."""
    twin, states = subject.twin, random_states(subject, 1)
    q, v, a = (states[name][0] for name in ("q", "v", "a"))
    bound: Any = subject.dynamics.inverse_dynamics.bind()
    bound.q[:], bound.v[:], bound.a[:] = q, v, a
    theirs = {name: twin.layout(name, states[name])[0] for name in ("q", "v", "a")}
    timings = time_in_turns(
        {
            "theirs": TimedStatement(
                "rnea(model, data, q, v, a)",
                theirs | {"rnea": pinocchio().rnea, "model": twin.model, "data": twin.data},
            ),
            "ufunc": TimedStatement("f(q, v, a)", {"f": subject.dynamics.inverse_dynamics, "q": q, "v": v, "a": a}),
            "bound": TimedStatement("f()", {"f": bound}),
        },
        turns,
        tick,
    )
    titles = {"ufunc": "one call", "bound": "one bound call"}
    return [
        Figure(
            "call",
            subject.name,
            name,
            f"inverse dynamics, {title}",
            timings["theirs"].best / timings[name].best,
            "x",
            aim("call", subject.name, name),
            timings[name].best,
            timings["theirs"].best,
            {"function": "rnea", "ours_median": timings[name].median, "theirs_median": timings["theirs"].median},
        )
        for name, title in titles.items()
    ]
