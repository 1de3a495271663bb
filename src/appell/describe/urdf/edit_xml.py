"""XML changed where it stands: attributes and texts get other values, tags are added, and all else stays byte for byte.

Expat says where every tag begins; where it ends, and where its attributes stand, is found in the text itself. Changes
are gathered and made at once, from the last to the first, so that no place moves before its turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

ATTRIBUTE = re.compile(rb"""([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass(eq=False)
class Tag:
    """A tag in the text: bytes from `start` to `opened` are its opening, `closed` is where its closing begins."""

    name: str
    attributes: dict[str, str]
    start: int
    parent: Tag | None = None
    opened: int = 0
    closed: int = 0
    children: list[Tag] = field(default_factory=list)

    def all(self, name: str) -> list[Tag]:
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Tag | None:
        return next(iter(self.all(name)), None)


class Editor:
    """A document, and the changes to it."""

    def __init__(self, text: str):
        self.data = text.encode("utf-8")
        self.changes: list[tuple[int, int, bytes]] = []  # from, to, what comes there
        self.root = self._parse()

    def _parse(self) -> Tag:
        parser = expat.ParserCreate("utf-8")
        top = Tag("", {}, 0)
        open_tags = [top]

        def start(name: str, attributes: dict[str, str]) -> None:
            tag = Tag(name, attributes, parser.CurrentByteIndex, open_tags[-1])
            tag.opened = self._end(tag.start)
            open_tags[-1].children.append(tag)
            open_tags.append(tag)

        def end(_: str) -> None:
            tag = open_tags.pop()
            tag.closed = max(parser.CurrentByteIndex, tag.start)

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.Parse(self.data, True)
        return top.children[0]

    def _end(self, start: int) -> int:
        """Behind the > of the tag that begins here."""
        quote = b""
        for k in range(start, len(self.data)):
            letter = self.data[k : k + 1]
            if quote:
                quote = b"" if letter == quote else quote
            elif letter in (b'"', b"'"):
                quote = letter
            elif letter == b">":
                return k + 1
        return len(self.data)

    # ---- changes

    def set(self, tag: Tag, values: Mapping[str, str]) -> None:
        """Give attributes of a tag other values; those that it has not are added at its end."""
        opening = self.data[tag.start : tag.opened]
        missing = dict(values)
        for match in ATTRIBUTE.finditer(opening):
            key = match[1].decode("utf-8")
            if key in missing:
                span = match.span(2)
                text = quoteattr(missing.pop(key)).encode("utf-8")
                self.changes.append((tag.start + span[0], tag.start + span[1], text))
        if missing:
            tail = 2 if opening.endswith(b"/>") else 1
            place = tag.start + len(opening[:-tail].rstrip())
            added = "".join(f" {key}={quoteattr(text)}" for key, text in missing.items())
            self.changes.append((place, place, added.encode("utf-8")))

    def write(self, tag: Tag, text: str) -> None:
        """Give the text between a tag and its end another value."""
        self.changes.append((tag.opened, tag.closed, escape(text).encode("utf-8")))

    def add(self, tag: Tag, lines: list[str]) -> None:
        """Put lines at the end of what stands within a tag, indented like its first child."""
        own = self._indent(tag.start)
        inner = self._indent(tag.children[0].start) if tag.children else own + "  "
        inner = own + "  " if inner == own else inner
        text = "".join(f"\n{inner}{line}" for line in lines)
        if self.data[tag.start : tag.opened].endswith(b"/>"):
            opening = self.data[tag.start : tag.opened - 2].rstrip()
            self.changes.append((tag.start + len(opening), tag.opened, f">{text}\n{own}</{tag.name}>".encode()))
            return
        place = tag.opened + len(self.data[tag.opened : tag.closed].rstrip())
        end = "" if b"\n" in self.data[place : tag.closed] else f"\n{own}"
        self.changes.append((place, place, (text + end).encode("utf-8")))

    def _indent(self, start: int) -> str:
        """The blanks at the beginning of the line of a place."""
        line = self.data[self.data.rfind(b"\n", 0, start) + 1 : start + 1]
        return line[: len(line) - len(line.lstrip())].decode("utf-8")

    def text(self) -> str:
        """The document with all changes."""
        data = self.data
        for start, stop, new in sorted(self.changes, key=lambda change: change[0], reverse=True):
            data = data[:start] + new + data[stop:]
        return data.decode("utf-8")
