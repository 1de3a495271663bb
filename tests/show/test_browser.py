"""The browser of the tests: it draws, records errors, and reaches no other machine."""

from __future__ import annotations

import pytest

import browser as browsing

PAGE = """<!doctype html><link rel="icon" href="data:,"><body style="margin:0;background:rgb(10,20,30)">
<canvas id="c" width="40" height="40"></canvas><script>
const gl = document.getElementById("c").getContext("webgl2"); gl.clearColor(1, 0, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT);
console.error("a complaint"); const image = new Image(); image.src = "http://appell.example/x.png";
</script></body>"""


def test_a_page_is_drawn_and_its_errors_and_requests_are_recorded(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    browser.open(page, (300, 200))
    browser.settled()
    picture = browser.picture()
    assert picture.shape == (200, 300, 3)
    assert tuple(picture[20, 20]) == (255, 0, 0)
    assert tuple(picture[150, 150]) == (10, 20, 30)
    assert any("a complaint" in complaint for complaint in browser.complaints())
    assert browser.requests() == [page.as_uri(), "http://appell.example/x.png"]
    assert browser.ask("document.images.length + arguments[0]", 2) == 2
    with pytest.raises(pytest.fail.Exception, match="was not true within"):
        browser.wait("false", 0.05)


@pytest.mark.parametrize(("wanted", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)])
def test_without_chromium_tests_are_skipped_and_where_it_is_required_they_fail(tmp_path, monkeypatch, wanted, outcome):
    monkeypatch.setenv("APPELL_PROGRAMS", wanted)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(outcome, match="chromium"):
        browsing.start_browser(tmp_path)
