"""The pages of Shafei 2018 and Abedloo 2014: everything that they promise is shown, without a warning of numbers."""

from __future__ import annotations

import io
import warnings

import pytest
from rich.console import Console

from appell.lab.papers import agile_wrist, branch_by_branch, impacts
from appell.lab.papers.closing import unshown
from appell.lab.papers.page import Page

PAGES = {"branch-by-branch": branch_by_branch, "impacts": impacts, "agile-wrist": agile_wrist}
SAID = {
    "branch-by-branch": ("146n²+643n+165", "253.5n²+815.5n+297", "rod1, rod2, rod5", "1014n²+3262n+1188"),
    "impacts": ("33.12", "31.42", "57.46", "30.14", "18.66", "2.49971", "5.37", "16 of 20"),
    "agile-wrist": ("1e-7", "the paper's, (47) in halves", "-1 -1 -1", "by 0.00041 of itself", "0.051649"),
}


@pytest.mark.slow
@pytest.mark.parametrize("section", PAGES)
def test_a_page_shows_what_the_list_of_its_paper_promises(section, tmp_path):
    page = Page(Console(file=io.StringIO(), width=160), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        PAGES[section].run(page)
    text = " ".join(page.console.file.getvalue().split())
    assert unshown(page, section) == []
    assert [words for words in SAID[section] if words not in text] == []
    assert all((tmp_path / f"{name}.png").stat().st_size > 10_000 for name in page.titles if " " not in name)
    assert page.tally.figures >= 4
    assert section != "impacts" or (tmp_path / "shafei_motion.gif").stat().st_size > 10_000
