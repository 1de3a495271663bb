"""STL files, binary and text: triangles with the corners of each, three at a time.

    binary   80 bytes of anything, the number n of triangles, n times 50 bytes: normal, three corners, two bytes more
    text     solid NAME ... facet normal x y z outer loop vertex x y z (three times) endloop endfacet ... endsolid

Binary files may begin with "solid" too, so a text has to have a facet. The normals say nothing that the corners do not.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from appell.errors import DescriptionError

HEAD = 84
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def pieces(data: bytes, path: Path) -> list[tuple[np.ndarray, np.ndarray, None]]:
    """All triangles, without a colour."""
    start = data[:1000].lstrip().lower()
    is_text = start.startswith(b"solid") and (b"facet" in start or b"endsolid" in start)
    count = int.from_bytes(data[80:HEAD], "little") if len(data) >= HEAD else 0
    size = HEAD + RECORD.itemsize * count
    if len(data) >= HEAD and not is_text:
        if len(data) < size:
            held = (len(data) - HEAD) // RECORD.itemsize
            raise DescriptionError(f"the STL file is cut short: it says {count} triangles and holds {held}.")
        corners = np.frombuffer(data, RECORD, count, HEAD)["corners"].reshape(-1, 3).astype(float)
    elif is_text:
        corners = _written(data)
    else:
        raise DescriptionError(f"an STL file cannot have {len(data)} bytes.", expected=f"at least {HEAD}")
    return [(corners, np.arange(len(corners)).reshape(-1, 3), None)]


def _written(data: bytes) -> np.ndarray:
    """The corners of a text file, one below the other."""
    words = VERTEX.findall(data)
    if len(words) % 3 or b"endsolid" not in data[-1000:].lower():
        raise DescriptionError(f"the STL file is cut short after {len(words)} corners.")
    try:
        return np.array(words, "S40").astype(float).reshape(-1, 3)
    except ValueError as error:
        raise DescriptionError(f"a corner of the STL file is no number: {error}.") from None
