"""HTML documents with text and tables: well-formed, escaped, and without requests."""

from __future__ import annotations

from html.parser import HTMLParser

from appell.show.page.document import document, html_table


class Reader(HTMLParser):
    """Collects table cells and checks that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


def test_a_document_is_complete_and_fetches_nothing():
    text = document("a < b", ["<p>text</p>", html_table(["x", "y"], [["1", "2"]], ["sum", "3"], "text")])
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.cells == ["x", "y", "1", "2", "sum", "3"]
    assert "<title>a &lt; b</title>" in text
    assert "prefers-color-scheme: dark" in text
    assert not any(word in text for word in ("http", "src=", "url(", "@import"))
