"""Every section of `appell reproduce`, run completely: it shows all items of the ledgers, without warnings."""

from __future__ import annotations

import io
import json
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from appell_lab.papers import SECTIONS
from appell_lab.papers.closing import end_section, unmeasured, unshown
from appell_lab.papers.ledger import LEDGERS
from appell_lab.papers.ledger.classics import CLASSICS
from appell_lab.papers.page import Page
from appell_lab.papers.shown import Remark, ShownFigure

IMAGES = Path(__file__).parents[3] / "docs" / "images" / "papers"  # the gallery

MEASURES = json.loads((IMAGES.parents[1] / "paper_measures.json").read_text(encoding="utf-8"))
MACHINE_DEPENDENT = (  # quantities that depend on the clock, or on roundings of float32 by the machine's instructions
    "time of Gibbs-Appell, compiled, over the shortest of CRBA and ABA, PUMA",
    "mean error of CRBA over that of GA, Cholesky",
    "mean error of CRBA over that of GA, LDLᵀ",
)
EXPECTED_TEXTS = {  # printed numbers and results that a section must show
    "branch-by-branch": ("146n²+643n+165", "253.5n²+815.5n+297", "rod1, rod2, rod5", "1014n²+3262n+1188"),
    "impacts": ("33.12", "31.42", "57.46", "30.14", "18.66", "2.49971", "5.37", "16 of 20"),
    "agile-wrist": ("1e-7", "the paper's, (47) in halves", "-1 -1 -1", "by 0.041 %", "0.051649", "motor torques, N m"),
    "control": ("0.225", "0.061"),
}
TABLES = {"constraints": 7}


@pytest.mark.slow
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_shows_all_items_without_warnings_or_flaws(name, tmp_path, monkeypatch):
    monkeypatch.setattr("appell_lab.counts.clock.MEASURING_S", 1e-3)  # verdicts on times are not compared
    page = Page(Console(file=io.StringIO(), width=160), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        import_module(SECTIONS[name].module).run(page)
    assert page.tally.tables == TABLES.get(name, page.tally.tables)
    assert unshown(page, name) == []
    assert unmeasured(page, name) == []
    for book in LEDGERS:
        for item in book.items:
            if item.section == name and not any(check.quantity in MACHINE_DEPENDENT for check in item.checks):
                assert item.verdict({name: page.measures}) is item.verdict(MEASURES), (book.paper, item.name)
    errata = (*CLASSICS, *(erratum for book in LEDGERS for erratum in book.errata))
    evidence = [one.evidence.removeprefix(f"{name}: ") for one in errata if one.evidence.startswith(f"{name}: ")]
    assert [words for words in evidence if not any(words in title for title in page.titles)] == []
    end_section(page, name)
    text = " ".join(page.console.file.getvalue().split())
    assert [one.text for one in page.shown if isinstance(one, Remark) and "[red]" in one.text] == []
    assert "is missing in this section" not in text
    assert [words for words in EXPECTED_TEXTS.get(name, ()) if words not in text] == []
    assert all((tmp_path / f"{title}.png").stat().st_size > 10_000 for title in page.titles if " " not in title)
    gallery = {path.name for path in (IMAGES / name).glob("*.png")}
    drawn = {one.file for one in page.shown if isinstance(one, ShownFigure) and one.file.endswith(".png")}
    assert drawn == gallery, "run: python docs/paper_figures.py"
    if name == "control":
        check_errors_of_laws(page.console.file.getvalue())
    assert name != "impacts" or (tmp_path / "shafei_motion.gif").stat().st_size > 10_000


def check_errors_of_laws(text: str) -> None:
    """Laws with an integral end exactly, and tracking with an integral has the smallest error while moving."""
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    moving, final = {}, {}
    for law in ("pid", "pd-gravity", "tracking", "tracking-integral"):
        moving[law], final[law] = (float(x) for x in lines[law][1:3])
    assert moving["tracking-integral"] == min(moving.values())
    assert final["tracking-integral"] < 0.05 * final["tracking"]
    assert final["pid"] < 0.05 * final["pd-gravity"]
    assert max(float(x) for x in lines["ramp"][1:7]) < 2.0  # mrad
