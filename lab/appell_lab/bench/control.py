"""One control step of the PUMA, from signals to torques and converter codes."""

from __future__ import annotations

from collections.abc import Callable

from appell_lab.bench.aims import aim
from appell_lab.bench.clock import TimedStatement, time_in_turns
from appell_lab.bench.figure import Figure

TITLES = {
    "compiled": "control step, compiled part",
    "step": "control step, arrays filled and read",
    "tick": "complete tick of the loop, without log",
}


def measure(turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure the median times of the compiled part, of a step from Python, and of a tick with all supervision."""
    from appell_lab.bench.control_step import puma_control_step

    step = puma_control_step()
    timings = time_in_turns(
        {
            "compiled": TimedStatement("f()", {"f": step.compiled}),
            "step": TimedStatement(step.STATEMENT, step.names),
            "tick": TimedStatement("tick()", {"tick": step.loop.tick}),
        },
        turns,
        tick,
    )
    return [
        Figure(
            "control",
            "puma",
            name,
            title,
            timings[name].median,
            "s",
            aim("control", "puma", name),
            details={"best": timings[name].best},
        )
        for name, title in TITLES.items()
    ]
