"""A small and safe XML tree with line numbers.

Expat does the parsing. A document type declaration is rejected immediately: without one, entities cannot be defined,
nested or fetched. The nesting depth is limited here, the size of files where they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from appell.describe.values import parse_decimal, shortened
from appell.errors import DescriptionError

MAX_DEPTH = 100  # of nested tags


@dataclass
class Element:
    """One tag with its attributes, its text, the line on which it starts and the file that contains it."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list)
    content: str = ""

    @property
    def where(self) -> str:
        """File and line of the tag."""
        return f"{self.source or 'the text'}, line {self.line}"

    def all(self, tag: str) -> Iterator[Element]:
        """Yield all children with a tag."""
        return (child for child in self.children if child.tag == tag)

    def only(self, tag: str) -> Element | None:
        """Return the only child with this tag, or None; raise if there are several."""
        children = list(self.all(tag))
        if len(children) > 1:
            raise children[1].error(f"<{self.tag}> has {len(children)} <{tag}> tags.", expected="at most one")
        return children[0] if children else None

    def need(self, tag: str, owner: str) -> Element:
        """Return the only child with this tag; raise if there is none. `owner` is for messages."""
        child = self.only(tag)
        if child is None:
            raise self.error(f"{owner} has no <{tag}>.")
        return child

    def text(self, key: str, owner: str) -> str:
        """Return an attribute that must exist and must not be empty."""
        value = self.attributes.get(key, "").strip()
        if not value:
            raise self.error(f"<{self.tag}> of {owner} has no attribute {key}.", expected=f'{key}="..."')
        return value

    def number(self, owner: str) -> float:
        """Return the finite number between the tags."""
        value = parse_decimal(self.content.strip())
        if value is None:
            what = f"<{self.tag}> of {owner} is {shortened(self.content.strip())}"
            raise self.error(f"{what}.", expected="a finite decimal number")
        return value

    def floats(self, key: str, size: int, owner: str) -> tuple[float, ...]:
        """Return the `size` finite numbers of an attribute, separated by blanks."""
        what, words = f"{key} of <{self.tag}> of {owner}", self.text(key, owner).split()
        values = [parse_decimal(word) for word in words[: size + 1]]
        if len(words) != size:
            raise self.error(f"{what} has {len(words)} numbers.", expected=f"{size}")
        for word, value in zip(words, values, strict=True):
            if value is None:
                raise self.error(f"{what} contains {shortened(word)}.", expected="finite decimal numbers")
        return tuple(value for value in values if value is not None)

    def float(self, key: str, owner: str) -> float:
        """Return the finite number of an attribute."""
        return self.floats(key, 1, owner)[0]

    def error(self, problem: str, expected: str = "", hint: str = "") -> DescriptionError:
        """Return an error at the line of this tag."""
        return DescriptionError(problem, expected=expected, source=self.where, hint=hint)


def parse(text: str, source: str = "") -> Element:
    """Parse a document and return its root element."""
    text = _without_declaration(text)
    parser = expat.ParserCreate("utf-8")
    top = Element("", {}, 0, source)
    open_elements = [top]

    def reject_declarations(*_: object) -> None:
        here = Element("", {}, parser.CurrentLineNumber, source)
        raise here.error(
            "the file declares a document type or an entity.", hint="Remove the <!DOCTYPE ...> declaration."
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, source)
        if len(open_elements) > MAX_DEPTH:
            raise element.error(f"tags are nested more than {MAX_DEPTH} deep.")
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def text_between(text: str) -> None:
        open_elements[-1].content += text

    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reject_declarations
    parser.EntityDeclHandler = reject_declarations
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.CharacterDataHandler = text_between
    try:
        parser.Parse(text.encode("utf-8"), True)
    except UnicodeEncodeError:
        raise DescriptionError("the text contains characters that cannot be encoded as UTF-8.", source=source) from None
    except expat.ExpatError as error:
        where = Element("", {}, error.lineno, source).where
        raise DescriptionError(f"the text is not valid XML: {expat.ErrorString(error.code)}.", source=where) from None
    return top.children[0]


def _without_declaration(text: str) -> str:
    """Return the text without its <?xml ...?>, which in many files follows a blank line or a comment."""
    start = text.find("<?xml")
    end = text.find("?>", start)
    before = text[: max(start, 0)]
    if start < 0 or end < 0 or (before.strip() and not before.lstrip().startswith("<!--")):
        return text
    declaration = text[start : end + 2]
    return before + "\n" * declaration.count("\n") + text[end + 2 :]
