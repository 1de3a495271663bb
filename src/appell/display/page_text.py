"""The page of a scene as one text: style, program and scene inside, so that a file of it plays with no network.

The program is written as modules. A file opened from disk may not import others, so they are joined: each becomes a
function that returns what it exports, in the order of their imports. The policy in the head of the page lets nothing
run but this program and nothing be fetched, whatever is written in the names of a scene.
"""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cache
from hashlib import sha256
from importlib.resources import files

from appell.display.encode import encoded
from appell.display.scene import Scene
from appell.errors import AppellError

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def page_text(scene: Scene, live: str = "") -> str:
    """The whole page; `live` is the address of the server that answers to it, and none if the page is alone."""
    return _page_of(json.dumps(encoded(scene), ensure_ascii=False, allow_nan=False), scene.title, live)


def _page_of(scene: str, title: str, live: str) -> str:
    program = joined_program()
    digest = base64.b64encode(sha256(program.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"
    fields = {
        "policy": policy + (f"; connect-src {_source(live)}" if live else ""),
        "title": html.escape(title or "appell"),
        "live": html.escape(live),
        "style": _text_of("style.css"),
        "scene": scene.replace("<", "\\u003c"),  # only inside strings, where JSON reads it as the same
        "program": program,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fields[found[1]], _text_of("page.html"))


def _source(live: str) -> str:
    """Where the page may ask: the machine of an address, or the one the page comes from."""
    found = re.match(r"https?://[\w.:\[\]-]+", live)
    return found[0] if found else "'self'"


@cache
def joined_program() -> str:
    """All modules as one script."""
    parts: dict[str, str] = {}
    _join("main", (), parts)
    return '"use strict";\n' + "\n".join(parts.values())


def _join(module: str, above: tuple[str, ...], parts: dict[str, str]) -> None:
    """Put a module behind those that it imports."""
    if module in above:
        raise AppellError(f"the modules of the page import each other in a ring: {' -> '.join((*above, module))}.")
    if module in parts:
        return
    text = _text_of(f"{module}.js")
    for _, needed in IMPORT.findall(text):
        _join(needed, (*above, module), parts)
    names = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", IMPORT.sub(lambda found: f"const {{{found[1]}}} = {found[2]}_module;\n", text))
    parts[module] = f"const {module}_module = (() => {{\n{body}return {{ {names} }};\n}})();"


def _text_of(name: str) -> str:
    return (files("appell.display") / "page" / name).read_text(encoding="utf-8")
