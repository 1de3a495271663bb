"""Flow charts of procedures: steps and calls are those that were recorded."""

from __future__ import annotations

import sys

import pytest

from appell.describe.load import load_tree
from appell.errors import ArgumentError
from appell.show.plot.style import new_figure, styled
from appell_lab.papers.call_chart import draw_calls, record
from appell_lab.papers.open_loop import replay
from appell_lab.papers.puma_lines import PROVENZANO_LINE
from appell_lab.papers.puma_open_loop import PRINTED_STEPS, STEPS
from appell_lab.references.figure_flaws import flaws


def first():
    return 1


def second():
    return first() + first()


def third():
    return 2 * second() + first()


CHAIN = {name: f"{__name__}.{name}" for name in ("third", "second", "first")}


def test_calls_are_counted_per_caller_and_steps_are_ordered_by_completion():
    result, graph = record(CHAIN, lambda: [third(), third(), first()])
    assert result == [5, 5, 1]
    assert graph.completed == ("first", "second", "third")
    assert graph.calls == {("", "third"): 2, ("third", "second"): 2, ("second", "first"): 4} | {
        ("third", "first"): 2,
        ("", "first"): 1,
    }
    assert graph.count("first") == 7
    assert graph.steps_in_order(("first", "third")) == 2
    assert graph.steps_in_order(("third", "first")) == 1
    assert graph.steps_in_order(("second", "missing", "third")) == 1


def test_a_step_that_is_not_called_is_named_and_the_profiling_hook_is_restored():
    def fail():
        raise ZeroDivisionError

    before = sys.getprofile()
    with pytest.raises(ArgumentError, match=r"did not call .*test_call_chart\.third"):
        record(CHAIN, second)
    with pytest.raises(ZeroDivisionError):
        record(CHAIN, fail)
    assert sys.getprofile() is before


def test_the_chart_of_the_simulation_counts_the_evaluations_of_the_integrator():
    robot = load_tree("puma")
    run, graph = record(STEPS, lambda: replay(PROVENZANO_LINE.trajectory(robot), robot, samples=11, interval=0.5))
    assert graph.count("forward dynamics") == run.evaluations
    assert graph.count("integration") == 10
    assert graph.steps_in_order(PRINTED_STEPS) == len(PRINTED_STEPS) - 1  # nothing was compared
    with styled():
        figure = new_figure(9.0, 5.5)
        draw_calls(figure, graph, "calls")
        assert flaws(figure) == []
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert f"forward dynamics: {run.evaluations} calls" in texts
