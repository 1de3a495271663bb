"""A fixture that opens pages of scenes in the browser and finally checks their errors and requests."""

from __future__ import annotations

import pytest

from appell.show.page.page_text import page_text


@pytest.fixture
def opened(browser, tmp_path):
    """Open the page of a scene from disk; finally check that it logged no errors and requested only itself."""
    path = tmp_path / "scene.html"

    def open_page(scene, size=(800, 600), dark=False):
        path.write_text(page_text(scene), encoding="utf-8")
        browser.open(path, size, dark)
        browser.ready()
        browser.settled()
        return browser

    yield open_page
    assert browser.complaints() == []
    assert set(browser.requests()) == {path.as_uri()}
