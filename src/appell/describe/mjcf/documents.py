"""Check an MJCF document and its included files before MuJoCo compiles them.

MuJoCo opens every file that a document names, and allocates as much as the document requests. The text and every text
it includes are therefore parsed by the strict XML reader first, without entities, and checked:

- Paths must be relative. They may lead to parent folders, because most packages keep meshes beside their models, and
  are resolved as MuJoCo resolves them, with the folders that any of the documents sets. The targets must be regular
  files (not pipes or devices) of limited size.
- A text in memory has no folder, so it must not name files.
- The number of copies and the sizes of grids, height fields and textures are limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

from appell.describe.files import read_text
from appell.describe.values import parse_decimal, shortened
from appell.describe.xml import Element, parse

MAX_ASSET_BYTES = 512 * 2**20
MAX_DOCUMENTS = 500  # included files
MAX_COPIES = 100_000  # bodies made by replicas or grids
SIZES = {"texture": ("width", "height"), "hfield": ("nrow", "ncol")}
MAX_CELLS = 2**26  # of a texture or height field
DOCUMENT_TAGS = ("include", "model")  # tags whose file is an MJCF document


@dataclass
class Documents:
    """A document and all documents that it includes, as XML trees with line numbers; `folder` is that of the first."""

    folder: Path | None
    roots: list[Element] = field(default_factory=list)
    folders: list[Path | None] = field(default_factory=list)  # one per root

    @staticmethod
    def of(text: str, source: str, folder: Path | None) -> Documents:
        """Parse and check a document and its includes; raise DescriptionError if a check fails."""
        root = parse(text, source)
        if root.tag != "mujoco":
            raise root.error(f"the outermost tag is <{root.tag}>.", expected="<mujoco>")
        documents = Documents(folder)
        documents._add(root, folder, {source})
        directories = _directories(documents.elements())
        for document, document_folder in zip(documents.roots, documents.folders, strict=True):
            for element, name in _named_files(document):
                if element.tag != "include":  # the folders of assets do not apply to it
                    documents._path(element, name, document_folder, directories)
        for element in documents.elements():
            _check_size(element)
        for document in documents.roots:
            _check_copies(document, 1.0)
        return documents

    def elements(self) -> Iterator[Element]:
        """Yield all elements, in the order of the documents."""
        for root in self.roots:
            yield from descendants(root)

    def _add(self, root: Element, folder: Path | None, seen: set[str]) -> None:
        self.roots.append(root)
        self.folders.append(folder)
        directories = _directories(descendants(root))
        for element, name in _named_files(root):
            path = self._path(element, name, folder, directories)
            if path is not None and _is_document(element, path) and str(path) not in seen:
                seen.add(str(path))
                if len(seen) > MAX_DOCUMENTS:
                    raise element.error(f"more than {MAX_DOCUMENTS} files are included.")
                self._add(parse(read_text(path), str(path)), path.parent, seen)

    def _path(self, element: Element, name: str, folder: Path | None, directories: list[str]) -> Path | None:
        """Return the checked path of a file that a tag names; None if it does not exist, which MuJoCo reports."""
        what = f"<{element.tag}> names the file {shortened(name)}"
        if folder is None or self.folder is None:
            problem = f"{what}, but a text in memory cannot refer to files."
            raise element.error(problem, hint="Save the text in the folder of its files, and load the path.")
        for part in (name, *directories):
            if PurePosixPath(part).is_absolute() or PureWindowsPath(part).drive:
                culprit = what if part is name else f"{what} in the folder {shortened(part)}"
                raise element.error(f"{culprit}, which is not relative to the folder of the description.")
        candidates = [
            base / part / file
            for file in (name, PureWindowsPath(name).name)  # MuJoCo omits the folders of a name if strippath is set
            for base in (self.folder, folder)
            for part in ("", *directories)
        ]
        existing: list[Path] = []
        for path in dict.fromkeys(candidates):
            try:
                exists = path.exists()
            except (OSError, ValueError):
                raise element.error(f"{what}, which is not a valid path.") from None
            if exists:
                if not path.is_file():
                    raise element.error(f"{what}, which is not a regular file.")
                if path.stat().st_size > MAX_ASSET_BYTES:
                    problem = f"{what}, which has {path.stat().st_size / 2**20:.0f} MB."
                    raise element.error(problem, expected=f"at most {MAX_ASSET_BYTES / 2**20:.0f} MB")
                existing.append(path)
        return existing[0] if existing else None


def descendants(root: Element) -> Iterator[Element]:
    """Yield an element and all its descendants, in the order of the text."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)


def _is_document(element: Element, path: Path) -> bool:
    return element.tag in DOCUMENT_TAGS and path.suffix.lower() in ("", ".xml", ".mjcf")


def _named_files(root: Element) -> Iterator[tuple[Element, str]]:
    """Yield the elements of a document that name files, with the names."""
    for element in descendants(root):
        for key, name in element.attributes.items():
            if key.startswith("file") and name.strip():
                yield element, name.strip()


def _directories(elements: Iterable[Element]) -> list[str]:
    """Return the folders that the compilers among some elements set for meshes, textures and other assets."""
    keys = ("assetdir", "meshdir", "texturedir")
    compilers = [element for element in elements if element.tag == "compiler"]
    return [compiler.attributes[key] for compiler in compilers for key in keys if compiler.attributes.get(key)]


def _check_size(element: Element) -> None:
    keys = SIZES.get(element.tag, ())
    sizes = [parse_decimal(element.attributes[key].strip()) for key in keys if key in element.attributes]
    if math.prod(abs(size) for size in sizes if size is not None) > MAX_CELLS:
        size_text = " by ".join(f"{size:g}" for size in sizes if size is not None)
        raise element.error(f"<{element.tag}> has {size_text} cells.", expected=f"at most {MAX_CELLS} cells")


def _check_copies(element: Element, copies: float) -> None:
    """Raise if an element, together with those around it, requests too many copies of its content."""
    if element.tag in ("replicate", "composite", "flexcomp"):
        counts = [parse_decimal(word) for word in element.attributes.get("count", "1").split()]
        copies *= math.prod(max(abs(count), 1.0) for count in counts if count is not None)
        if copies > MAX_COPIES:
            problem = f"<{element.tag}> requests {copies:g} copies."
            raise element.error(problem, expected=f"at most {MAX_COPIES}")
    for child in element.children:
        _check_copies(child, copies)
