"""Edit XML in place: change attributes and texts, add tags, and leave everything else unchanged, byte for byte.

Expat gives the start of every tag; its end and its attributes are located in the text. Changes are collected and
applied together, from the last to the first, so that earlier positions remain valid.
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
    """A tag in the text: its opening tag is from byte `start` to `opened`, its closing tag starts at `closed`."""

    name: str
    attributes: dict[str, str]
    start: int
    parent: Tag | None = None
    opened: int = 0
    closed: int = 0
    children: list[Tag] = field(default_factory=list)

    def all(self, name: str) -> list[Tag]:
        """Return all children with a name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Tag | None:
        """Return the first child with a name, or None."""
        return next(iter(self.all(name)), None)


class Editor:
    """A document and the changes to it."""

    def __init__(self, text: str):
        self.data = text.encode("utf-8")
        self.changes: list[tuple[int, int, bytes]] = []  # start, stop, replacement
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
        """Return the position after the > of the tag that starts here."""
        quote = b""
        for k in range(start, len(self.data)):
            byte = self.data[k : k + 1]
            if quote:
                quote = b"" if byte == quote else quote
            elif byte in (b'"', b"'"):
                quote = byte
            elif byte == b">":
                return k + 1
        return len(self.data)

    # ---- changes

    def set(self, tag: Tag, values: Mapping[str, str]) -> None:
        """Set attributes of a tag; missing ones are added at its end."""
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
            position = tag.start + len(opening[:-tail].rstrip())
            added = "".join(f" {key}={quoteattr(text)}" for key, text in missing.items())
            self.changes.append((position, position, added.encode("utf-8")))

    def write(self, tag: Tag, text: str) -> None:
        """Replace the text between an opening and a closing tag."""
        self.changes.append((tag.opened, tag.closed, escape(text).encode("utf-8")))

    def add(self, tag: Tag, lines: list[str]) -> None:
        """Append lines to the content of a tag, indented like its first child."""
        indent = self._indent(tag.start)
        inner = self._indent(tag.children[0].start) if tag.children else indent + "  "
        inner = indent + "  " if inner == indent else inner
        text = "".join(f"\n{inner}{line}" for line in lines)
        if self.data[tag.start : tag.opened].endswith(b"/>"):
            opening = self.data[tag.start : tag.opened - 2].rstrip()
            self.changes.append((tag.start + len(opening), tag.opened, f">{text}\n{indent}</{tag.name}>".encode()))
            return
        position = tag.opened + len(self.data[tag.opened : tag.closed].rstrip())
        end = "" if b"\n" in self.data[position : tag.closed] else f"\n{indent}"
        self.changes.append((position, position, (text + end).encode("utf-8")))

    def _indent(self, start: int) -> str:
        """Return the indentation of the line that contains a position."""
        line = self.data[self.data.rfind(b"\n", 0, start) + 1 : start + 1]
        return line[: len(line) - len(line.lstrip())].decode("utf-8")

    def text(self) -> str:
        """Return the document with all changes applied."""
        data = self.data
        for start, stop, new in sorted(reversed(self.changes), key=lambda change: change[0], reverse=True):
            data = data[:start] + new + data[stop:]
        return data.decode("utf-8")
