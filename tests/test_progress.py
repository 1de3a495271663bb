"""Progress bars of long computations."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import appell as ap
from appell import progress as bars
from appell.progress import Bar, counted, paused, rate_text


def terminal(**options) -> Console:
    return Console(file=StringIO(), force_terminal=True, width=100, **options)


def test_a_bar_is_shown_after_a_delay_and_on_terminals_only():
    def shown(delay, is_terminal, enabled=None, **environ):
        console = Console(file=StringIO(), force_terminal=is_terminal, width=80, _environ=environ)
        with Bar("simulate", 2.0, "s", enabled=enabled, delay=delay, console=console) as bar:
            bar(1.0)
        return "simulate" in console.file.getvalue()

    assert shown(delay=0.0, is_terminal=True)
    assert not shown(delay=60.0, is_terminal=True)
    assert not shown(delay=0.0, is_terminal=False)
    assert not shown(delay=0.0, is_terminal=True, enabled=False)
    assert not shown(delay=0.0, is_terminal=True, TERM="dumb")


def test_a_bar_does_not_change_a_simulation(monkeypatch):
    monkeypatch.setattr(bars, "DELAY_S", 0.0)
    dyn = ap.Dynamics(ap.load("pendulum"))
    plain, with_bar = (ap.simulate(dyn, until=0.5, progress=progress) for progress in (False, True))
    assert (plain.q == with_bar.q).all()


def test_a_bar_shows_progress_total_and_rate(monkeypatch):
    console, clock = terminal(), iter(range(1000))
    with Bar("sweep [of arms]", 4000, "jobs", start=0.0, delay=0.0, console=console) as bar:
        monkeypatch.setattr(bar.progress, "get_time", lambda: float(next(clock)))
        for done in (1000, 2000, 3000):
            bar(done)
        bar.progress.refresh()
    shown = console.file.getvalue()
    assert "sweep [of arms]" in shown
    assert "3,000 of 4,000 jobs" in shown
    assert " jobs/s" in shown
    assert "\x1b[2K" in shown  # it is erased at the end


@pytest.mark.parametrize(
    ("speed", "unit", "text"),
    [
        (53.0, "jobs", "53 jobs/s"),
        (0.5, "jobs", "2 s/job"),
        (123456.0, "poses", "123,456 poses/s"),
        (0.25, "s", "0.25 s/s"),
        (0.0, "jobs", ""),
        (3.0, "", ""),
    ],
)
def test_a_rate_is_shown_per_second_or_in_seconds_per_unit(speed, unit, text):
    assert rate_text(speed, unit) == text


def test_an_inner_bar_hides_the_outer_one():
    console = terminal()
    with Bar("outer", 2.0, "turns", delay=0.0, console=console) as outer:
        with Bar("inner", delay=0.0, console=console) as inner:
            assert inner.progress.live.is_started
            assert not outer.progress.live.is_started
        assert outer.progress.live.is_started
        with paused():
            assert not outer.progress.live.is_started
        assert outer.progress.live.is_started
    assert bars._active == []


def test_an_error_removes_all_bars():
    console = terminal()
    with pytest.raises(ZeroDivisionError), Bar("a", delay=0.0, console=console), Bar("b", delay=0.0):
        raise ZeroDivisionError
    assert bars._active == []


def test_counted_yields_the_items():
    assert list(counted([3, 1, 2], unit="items")) == [3, 1, 2]
