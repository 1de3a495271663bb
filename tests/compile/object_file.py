"""Contents of object files."""

import struct

import pytest


def undefined_symbols(image: bytes) -> list[str]:
    """Return the undefined symbols of a 64-bit ELF object."""
    if image[:5] != b"\x7fELF\x02":
        pytest.skip("not an ELF object")
    start, size, count = (*struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HH", image, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, start + k * size) for k in range(count)]
    (table,) = (section for section in sections if section[1] == 2)
    names = sections[table[6]][4]
    entries = (struct.unpack_from("<IBBHQQ", image, table[4] + at) for at in range(24, table[5], 24))
    missing = [names + entry[0] for entry in entries if entry[3] == 0]
    return [image[at : image.index(b"\0", at)].decode() for at in missing]
