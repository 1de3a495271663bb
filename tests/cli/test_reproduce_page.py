"""The page of `appell reproduce`: verdicts, tables, and figures without matplotlib."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from appell_lab.papers.page import Page, verdict


def page(folder) -> Page:
    return Page(Console(file=io.StringIO(), width=100), folder)


@pytest.mark.parametrize(
    ("ours", "printed", "agrees"),
    [
        (18.6579, "18.66", True),
        (18.6549, "18.66", False),
        (13278.5, "1.33E4", True),
        (13240.0, "1.33E4", False),
        (-492.1081, "-492.108", True),
        (492.0, "-492", False),
        (7.0, "7", True),
        (7.6, "7", False),
    ],
)
def test_a_number_agrees_if_it_rounds_to_the_printed_one(ours, printed, agrees):
    assert ("agrees" in verdict(ours, printed)) is agrees


def test_a_number_that_disagrees_is_shown_with_its_deviation():
    assert "+10 %" in verdict(110.0, "100")


def test_a_table_shows_text_and_numbers(tmp_path):
    written = page(tmp_path)
    written.table("Title", ["", "x"], [["row", 1.23456789], ["other", "text"]], note="a remark [with brackets]")
    text = written.console.file.getvalue()
    assert all(part in text for part in ("Title", "1.23457", "text", "a remark [with brackets]"))


def test_without_matplotlib_a_message_replaces_a_figure(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    written = page(tmp_path)
    written.figure("curve", lambda figure: pytest.fail("nothing to draw on"))
    assert "pip install 'appell[plots]'" in written.console.file.getvalue()
    assert list(tmp_path.iterdir()) == []
