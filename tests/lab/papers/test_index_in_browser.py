"""The index of `appell reproduce` in a real browser, opened from disk: layout, figures, no network access."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from appell.cli.main import app

pytest.importorskip("browser", reason="tests/browser.py drives the browser")
IMAGES = "#dynamics ~ figure img"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    assert CliRunner().invoke(app, ["reproduce", "dynamics", "--output", str(folder)]).exit_code == 0
    return folder / "index.html"


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_and_shows_its_figures(browser, index, width, dark):
    browser.open(index, (width, 800), dark=dark)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    browser.do("document.querySelector('#dynamics').scrollIntoView()")
    browser.wait(f"[...document.querySelectorAll('{IMAGES}')].every(i => i.complete && i.naturalWidth > 0)")
    assert browser.ask(f"document.querySelectorAll('{IMAGES}').length") == 2
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
    assert all(url.startswith("file:") for url in browser.requests())
    assert browser.complaints() == []


@pytest.mark.slow
def test_a_link_in_the_list_of_a_paper_leads_to_the_figure(browser, index):
    browser.open(index, (1280, 800))
    browser.element("#shafei-2018 ~ .scroll a[href^='#dynamics-']").click()
    target = browser.ask("location.hash")
    assert target.startswith("#dynamics-")
    assert abs(browser.ask(f"document.querySelector('{target}').getBoundingClientRect().top")) < 200
