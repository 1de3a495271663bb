"""The page as one text: one script, no requests, and names that cannot become markup."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from appell.compile.wasm.source import runtime
from appell.errors import AppellError
from appell.show.page import page_text as writing
from appell.show.page.page_text import joined_program, page_text
from page_scenes import scene

HOSTILE = "</script><script>window.hacked=1</script><!--<script>{{program}}"


def module_texts() -> dict[str, str]:
    """Return the modules of the page, and the one that runs WebAssembly."""
    folder = files("appell.show.page") / "assets"
    texts = {entry.name[:-3]: entry.read_text() for entry in folder.iterdir() if entry.name.endswith(".js")}
    return texts | {"runtime": runtime()}


def test_every_module_is_joined_once_after_those_it_imports():
    program, texts = joined_program(), module_texts()
    modules = sorted(texts)
    order = re.findall(r"^const (\w+)_module = ", program, re.MULTILINE)
    assert sorted(order) == modules
    assert not re.search(r"^(import|export) ", program, re.MULTILINE)
    for module in modules:
        for needed in re.findall(r'from "\./(\w+)\.js"', texts[module]):
            assert order.index(needed) < order.index(module)


def test_every_imported_name_is_exported_and_used():
    texts = module_texts()
    for module, text in texts.items():
        for names, source in writing.IMPORT.findall(text):
            for name in names.replace(" ", "").split(","):
                assert name in writing.EXPORT.findall(texts[source]), f"{source}.js does not export {name}"
                assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{module}.js does not use {name}"
    for module, text in texts.items():
        for name in writing.EXPORT.findall(text):
            users = [other for other, there in texts.items() if other != module and re.search(rf"\b{name}\b", there)]
            assert users, f"{name} of {module}.js is not used"


def test_circular_imports_of_modules_are_rejected(monkeypatch):
    texts = {"main.js": 'import { a } from "./other.js";\n', "other.js": 'import { b } from "./main.js";\n'}
    monkeypatch.setattr(writing, "_text_of", texts.get)
    with pytest.raises(AppellError, match="main -> other -> main"):
        writing._join("main", (), {})


def test_names_cannot_become_markup():
    text = page_text(scene(title=HOSTILE, notes=(HOSTILE,)))
    assert text.count("</script>") == 2  # of the scene and of the program
    assert "<script>window" not in text
    assert "<title>&lt;/script&gt;" in text


def test_a_standalone_page_may_contact_no_server_and_a_live_one_only_its_own():
    policy = re.compile(r'Content-Security-Policy" content="([^"]*)"')
    alone = policy.search(page_text(scene()))[1]
    assert alone.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in alone
    assert "connect-src http://127.0.0.1:8080" in policy.search(page_text(scene(), "http://127.0.0.1:8080/token/"))[1]
    assert "connect-src 'self'" in policy.search(page_text(scene(), "/token/"))[1]
    assert 'data-live="/token/"' in page_text(scene(), "/token/")
