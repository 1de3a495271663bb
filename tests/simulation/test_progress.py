"""The bar that long runs show."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

import appell as ap
from appell.simulation.progress import Bar


def test_only_runs_that_last_show_a_bar_and_only_on_a_terminal(monkeypatch):
    def shown(patience, terminal, enabled=None):
        monkeypatch.setattr(Bar, "PATIENCE", patience)
        console = Console(file=StringIO(), force_terminal=terminal, width=80)
        with Bar(0.0, 2.0, enabled, console) as bar:
            bar(1.0)
        return "simulate" in console.file.getvalue()

    assert shown(patience=0.0, terminal=True)
    assert not shown(patience=60.0, terminal=True)
    assert not shown(patience=0.0, terminal=False)
    assert not shown(patience=0.0, terminal=True, enabled=False)


def test_a_run_with_a_bar_is_the_same_run(monkeypatch):
    monkeypatch.setattr(Bar, "PATIENCE", 0.0)
    dyn = ap.Dynamics(ap.load("pendulum"))
    plain, watched = (ap.simulate(dyn, until=0.5, progress=progress) for progress in (False, True))
    assert (plain.q == watched.q).all()
