"""What a file of MJCF is before MuJoCo sees it: XML without entities, and files that can be read to their end.

MuJoCo opens what a file names, and makes as much as it is told to make. So the text and every text it includes go
through the strict reader of XML first, and what they ask for is looked at:

- A path is relative. It may lead up, as most packages keep their meshes beside their models; it is followed as MuJoCo
  follows it. What is there must be a plain file (no pipe, no device) of a size that a robot needs.
- A text in memory stands nowhere, so that it can name no files at all.
- Copies, grids, height fields and pictures have a size beyond which nobody means them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

from appell.describe.files import read_text
from appell.describe.values import plain, shortened
from appell.describe.xml import Element, parse

LARGEST_ASSET = 512 * 2**20  # bytes
MOST_TEXTS = 500
MOST_COPIES = 100_000  # bodies that replicas or grids make
SIZES = {"texture": ("width", "height"), "hfield": ("nrow", "ncol")}
MOST_CELLS = 2**26
TEXTS = ("include", "model")  # tags whose file is a text of MJCF


@dataclass
class Documents:
    """A text with all that it includes, as trees that remember their lines."""

    folder: Path | None
    roots: list[Element] = field(default_factory=list)

    @staticmethod
    def of(text: str, source: str, folder: Path | None) -> Documents:
        root = parse(text, source)
        if root.tag != "mujoco":
            raise root.error(f"the outermost tag is <{root.tag}>.", expected="<mujoco>")
        found = Documents(folder)
        found._take(root, folder, {source})
        for element in found.elements():
            _check_size(element)
        for document in found.roots:
            _check_copies(document, 1.0)
        return found

    def elements(self) -> Iterator[Element]:
        """All of them, in the order of the texts."""
        for root in self.roots:
            yield from below(root)

    def _take(self, root: Element, folder: Path | None, seen: set[str]) -> None:
        self.roots.append(root)
        directories = _directories(root)
        for element in below(root):
            for key, name in element.attributes.items():
                if not key.startswith("file") or not name.strip():
                    continue
                path = self._path(element, name.strip(), folder, directories)
                if path is not None and _is_text(element, path) and str(path) not in seen:
                    seen.add(str(path))
                    if len(seen) > MOST_TEXTS:
                        raise element.error(f"more than {MOST_TEXTS} files are included.")
                    self._take(parse(read_text(path), str(path)), path.parent, seen)

    def _path(self, element: Element, name: str, folder: Path | None, directories: list[str]) -> Path | None:
        """The file that a tag names, checked; None if there is none, of which MuJoCo tells."""
        what = f"<{element.tag}> names the file {shortened(name)}"
        if folder is None or self.folder is None:
            problem = f"{what}, but a text in memory stands in no folder."
            raise element.error(problem, hint="save the text beside its files, and load the path")
        if any(PurePosixPath(part).is_absolute() or PureWindowsPath(part).drive for part in (name, *directories)):
            raise element.error(f"{what}, which is not relative to the folder of the description.")
        places = [base / part / name for base in (self.folder, folder) for part in ("", *directories)]
        for path in places:
            try:
                found = path.exists()
            except (OSError, ValueError):
                raise element.error(f"{what}, which no path can be.") from None
            if found:
                if not path.is_file():
                    raise element.error(f"{what}, which is no plain file.")
                if path.stat().st_size > LARGEST_ASSET:
                    problem = f"{what}, which has {path.stat().st_size / 2**20:.0f} MB."
                    raise element.error(problem, expected=f"at most {LARGEST_ASSET / 2**20:.0f} MB")
                return path
        return None


def below(root: Element) -> Iterator[Element]:
    """An element and all in it, in the order of the text."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)


def _is_text(element: Element, path: Path) -> bool:
    return element.tag in TEXTS and path.suffix.lower() in ("", ".xml", ".mjcf")


def _directories(root: Element) -> list[str]:
    keys = ("assetdir", "meshdir", "texturedir")
    compilers = [element for element in root.all("compiler")]
    return [compiler.attributes[key] for compiler in compilers for key in keys if compiler.attributes.get(key)]


def _check_size(element: Element) -> None:
    keys = SIZES.get(element.tag, ())
    sizes = [plain(element.attributes[key].strip()) for key in keys if key in element.attributes]
    if math.prod(abs(size) for size in sizes if size is not None) > MOST_CELLS:
        told = " by ".join(f"{size:g}" for size in sizes if size is not None)
        raise element.error(f"<{element.tag}> asks for {told} cells.", expected=f"at most {MOST_CELLS} of them")


def _check_copies(element: Element, copies: float) -> None:
    """How many copies of what stands in an element are asked for."""
    if element.tag in ("replicate", "composite", "flexcomp"):
        counts = [plain(word) for word in element.attributes.get("count", "1").split()]
        copies *= math.prod(max(abs(count), 1.0) for count in counts if count is not None)
        if copies > MOST_COPIES:
            problem = f"<{element.tag}> asks for {copies:g} copies."
            raise element.error(problem, expected=f"at most {MOST_COPIES}")
    for child in element.children:
        _check_copies(child, copies)
