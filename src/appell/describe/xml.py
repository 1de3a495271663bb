"""A small and safe XML tree that remembers lines.

Expat does the parsing. A document type declaration is refused as soon as it is met: without one there are no entities
to define, to nest or to fetch. Depth is capped, and sizes are capped where files are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from appell.describe.values import plain, shortened
from appell.errors import DescriptionError

DEEPEST = 100


@dataclass
class Element:
    """One tag with its attributes, the text between, the line it starts on and the file it stands in."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list)
    content: str = ""

    @property
    def where(self) -> str:
        return f"{self.source or 'the text'}, line {self.line}"

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def only(self, tag: str) -> Element | None:
        """The one child with this tag, if there is one."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(f"<{self.tag}> has {len(found)} <{tag}> tags.", expected="at most one")
        return found[0] if found else None

    def need(self, tag: str, who: str) -> Element:
        child = self.only(tag)
        if child is None:
            raise self.error(f"{who} has no <{tag}>.")
        return child

    def text(self, key: str, who: str) -> str:
        """An attribute that must be there and must not be empty."""
        value = self.attributes.get(key, "").strip()
        if not value:
            raise self.error(f"<{self.tag}> of {who} has no {key}.", expected=f'{key}="..."')
        return value

    def number(self, who: str) -> float:
        """The finite number between the tags."""
        value = plain(self.content.strip())
        if value is None:
            what = f"<{self.tag}> of {who} is {shortened(self.content.strip())}"
            raise self.error(f"{what}.", expected="a finite decimal number")
        return value

    def floats(self, key: str, size: int, who: str) -> tuple[float, ...]:
        """So many finite numbers, separated by blanks."""
        what, words = f"{key} of <{self.tag}> of {who}", self.text(key, who).split()
        values = [plain(word) for word in words[: size + 1]]
        if len(words) != size:
            raise self.error(f"{what} has {len(words)} numbers.", expected=f"{size}")
        for word, value in zip(words, values, strict=True):
            if value is None:
                raise self.error(f"{what} holds {shortened(word)}.", expected="finite decimal numbers")
        return tuple(value for value in values if value is not None)

    def float(self, key: str, who: str) -> float:
        return self.floats(key, 1, who)[0]

    def error(self, problem: str, expected: str = "", hint: str = "") -> DescriptionError:
        return DescriptionError(problem, expected=expected, source=self.where, hint=hint)


def parse(text: str, source: str = "") -> Element:
    """The root element of a document."""
    text = _without_declaration(text)
    parser = expat.ParserCreate("utf-8")
    top = Element("", {}, 0, source)
    open_elements = [top]

    def refuse_declarations(*_: object) -> None:
        here = Element("", {}, parser.CurrentLineNumber, source)
        raise here.error("the file declares a document type or an entity.", hint="remove the <!DOCTYPE ...> from it")

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, source)
        if len(open_elements) > DEEPEST:
            raise element.error(f"tags are nested more than {DEEPEST} deep.")
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def text_between(text: str) -> None:
        open_elements[-1].content += text

    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse_declarations
    parser.EntityDeclHandler = refuse_declarations
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.CharacterDataHandler = text_between
    try:
        parser.Parse(text.encode("utf-8"), True)
    except UnicodeEncodeError:
        raise DescriptionError("the text holds characters that no file can hold.", source=source) from None
    except expat.ExpatError as error:
        where = Element("", {}, error.lineno, source).where
        raise DescriptionError(f"this is not XML: {expat.ErrorString(error.code)}.", source=where) from None
    return top.children[0]


def _without_declaration(text: str) -> str:
    """The text with its <?xml ...?> blanked out, which many files have after a blank line or a comment."""
    start = text.find("<?xml")
    end = text.find("?>", start)
    before = text[: max(start, 0)]
    if start < 0 or end < 0 or (before.strip() and not before.lstrip().startswith("<!--")):
        return text
    declaration = text[start : end + 2]
    return before + "\n" * declaration.count("\n") + text[end + 2 :]
