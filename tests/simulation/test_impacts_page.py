"""`appell reproduce impacts`, and the bar that long runs show."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import appell as ap
from appell.lab.papers import SECTIONS, impacts
from appell.lab.papers.page import Page
from appell.simulation.progress import Bar


@pytest.mark.slow
def test_the_page_has_table_3_the_energy_and_all_figures(tmp_path):
    console = Console(record=True, width=120)
    impacts.run(Page(console, tmp_path))
    text = console.export_text()
    assert SECTIONS["impacts"].module == "appell.lab.papers.impacts"
    for printed in ("33.12", "31.42", "57.46", "30.14", "18.66"):
        assert printed in text
    assert text.count("time of the impact of") == 5
    for name in (*(f"shafei_figure_{k}.png" for k in range(14, 20)), "shafei_motion.gif"):
        assert (tmp_path / name).stat().st_size > 10_000


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
