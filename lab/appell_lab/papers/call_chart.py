"""Flow charts of procedures from their recorded calls: Figure 2 of Provenzano, Figures 4 of Mata 2002 and Abedloo 2014.

`record` runs a procedure and counts the calls between named Python functions, its steps, with the profiling hook of the
interpreter. A step is complete when its function returns for the first time, so that the order of completion is the
order in which results are passed on: a step that another step calls is complete before its caller.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from appell.errors import ArgumentError
from appell.show.plot.style import BLUE, GREY, INK, NOTE_PT, SMALL_PT

T = TypeVar("T")
BOX_WIDTH, BOX_HEIGHT = 0.5, 0.62  # of the axes, and of the distance between two boxes
LANE_WIDTH = 0.085  # distance of the arrows that pass boxes, of the axes


@dataclass(frozen=True)
class CallGraph:
    """Recorded calls; the caller of a step that the procedure itself calls is the empty string."""

    functions: Mapping[str, str]  # step -> module and qualified name of its function
    completed: tuple[str, ...]  # steps in the order in which they returned for the first time
    calls: Mapping[tuple[str, str], int]  # (caller, step) -> number of calls

    def count(self, step: str) -> int:
        """Return the number of calls of a step."""
        return sum(n for (_, called), n in self.calls.items() if called == step)

    def steps_in_order(self, steps: Sequence[str]) -> int:
        """Return how many of the steps, from the first one on, were completed one after the other."""
        number, rest = 0, iter(self.completed)
        while number < len(steps) and steps[number] in rest:
            number += 1
        return number


def record(functions: Mapping[str, str], procedure: Callable[[], T]) -> tuple[T, CallGraph]:
    """Run a procedure and return its result and the calls between its steps.

    Parameters
    ----------
    functions : steps with module and qualified name of their Python functions, such as "appell.simulation.run.simulate"
    procedure : the function to run, without arguments

    Raises
    ------
    ArgumentError
        If a function was not called.
    """
    steps = {function: step for step, function in functions.items()}
    calls: Counter[tuple[str, str]] = Counter()
    active = [""]
    completed: dict[str, None] = {}

    def hook(frame: Any, event: str, argument: object) -> None:
        if event not in ("call", "return"):
            return
        step = steps.get(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")
        if step is None:
            return
        if event == "call":
            calls[active[-1], step] += 1
            active.append(step)
        elif active[-1] == step:  # a function that was already running has no call to end
            completed.setdefault(active.pop())

    previous = sys.getprofile()
    sys.setprofile(hook)
    try:
        result = procedure()
    finally:
        sys.setprofile(previous)
    if missing := [function for step, function in functions.items() if step not in completed]:
        raise ArgumentError(
            f"the procedure did not call {', '.join(missing)}.", expected="qualified names of called Python functions"
        )
    return result, CallGraph(dict(functions), tuple(completed), calls)


def draw_calls(figure: Any, graph: CallGraph, title: str) -> None:
    """Draw the steps as boxes in the order of completion, with arrows from each called step to its caller."""
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.01, 0.75), ylim=(len(graph.completed) - 0.5, -0.5), title=title)
    row = {step: k for k, step in enumerate(graph.completed)}
    for step, k in row.items():
        direct_calls = graph.calls.get(("", step), 0)
        by_procedure = f" ({direct_calls:,} by the procedure)" if direct_calls not in (0, graph.count(step)) else ""
        _box(axes, k, f"{step}: {_calls(graph.count(step))}{by_procedure}", graph.functions[step])
    lane = 0
    for (caller, step), n in sorted(graph.calls.items(), key=lambda one: row[one[0][1]]):
        text = _calls(n)
        if caller and row[caller] == row[step] + 1:
            _arrow(axes, [(0.25, row[step] + 0.5 * BOX_HEIGHT), (0.25, row[caller] - 0.5 * BOX_HEIGHT)])
            axes.text(0.265, row[step] + 0.5, text, fontsize=NOTE_PT, color=INK, va="center")
        elif caller:
            lane += 1
            start, end = row[step] + 0.2, row[caller] - 0.2
            _arrow(axes, [(BOX_WIDTH, start), (x := BOX_WIDTH + lane * LANE_WIDTH, start), (x, end), (BOX_WIDTH, end)])
            axes.text(x + 0.008, 0.5 * (start + end), text, fontsize=NOTE_PT, color=INK, va="center")
    direct = [step for step in graph.completed if ("", step) in graph.calls]
    for step, following in pairwise(direct):
        if row[following] == row[step] + 1 and (following, step) not in graph.calls:
            path = [(0.25, row[step] + 0.5 * BOX_HEIGHT), (0.25, row[following] - 0.5 * BOX_HEIGHT)]
            _arrow(axes, path, color=GREY)
    figure.supxlabel(
        "black: result of a called step to its caller, which passes its state; grey: next step of the procedure",
        fontsize=NOTE_PT,
    )


def _calls(n: int) -> str:
    return f"{n:,} call{'s' * (n > 1)}"


def _box(axes: Any, k: int, name: str, function: str) -> None:
    from matplotlib.patches import Rectangle

    low = k - 0.5 * BOX_HEIGHT
    axes.add_patch(Rectangle((0.0, low), BOX_WIDTH, BOX_HEIGHT, facecolor="white", edgecolor=BLUE, linewidth=1.2))
    axes.text(0.25, k - 0.02, name, fontsize=SMALL_PT, color=INK, ha="center", va="bottom")
    axes.text(0.25, k + 0.06, function, fontsize=NOTE_PT, color=GREY, ha="center", va="top")


def _arrow(axes: Any, points: Sequence[tuple[float, float]], color: str = INK) -> None:
    *_, before, last = points
    axes.plot(*zip(*points, strict=True), color=color, linewidth=1.0, clip_on=False)
    axes.annotate("", last, before, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.0, "shrinkB": 0.0})
