"""Every section of `appell reproduce`, run whole: it shows what the lists say, warns of nothing, and hides no curve."""

from __future__ import annotations

import io
import warnings
from importlib import import_module

import pytest
from rich.console import Console

from appell.lab.papers import SECTIONS
from appell.lab.papers.closing import end_section, unshown
from appell.lab.papers.page import Page


@pytest.mark.slow
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_shows_what_the_lists_say_without_a_warning_or_a_covered_curve(name, tmp_path):
    page = Page(Console(file=io.StringIO(), width=100), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        import_module(SECTIONS[name].module).run(page)
    assert unshown(page, name) == []
    end_section(page, name)
    text = page.console.file.getvalue()
    assert "legend covers" not in text
    assert "was to be shown" not in text
