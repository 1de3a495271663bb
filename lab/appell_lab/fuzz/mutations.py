"""Mutations of files: bits flipped, parts cut, repeated and moved, tags and words exchanged, extreme numbers.

Every mutation is a function of a random generator and bytes that returns bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

Mutation = Callable[[np.random.Generator, bytes], bytes]

NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TAG = re.compile(rb"<[^<>]{1,300}>")
WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]{1,30}")
EXTREME = (
    *(b"0", b"-0.0", b"1e308", b"-1e308", b"1e400", b"1e-320", b"5e-324", b"nan", b"-inf", b"inf", b"", b"x"),
    *(
        b"1_0",
        b"0x10",
        b"1e",
        b"--1",
        b"9" * 400,
        b"1" * 20000,
        b"0." + b"0" * 20000 + b"1",
        b"1e99999",
        b"1" + b"_1" * 9,
    ),
    *(b"pi/2", b"90 deg", b"1/0", b"1 2", b"True", b"1,5", b"18446744073709551616", b"-9223372036854775809"),
    *(b"\xd9\xa3", b"1\x00", b"\xc2\xa01", b"${x}", b"$(arg y)", b"1e-7", b"-1", b"1e6", b"1e-12", b"1e12"),
)
PIECES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"&amp;", b"&x;", b"<!--", b"-->", b"<![CDATA[", b"]]>"),
    *(
        b'<?xml version="1.0" encoding="utf-16"?>',
        b'<!DOCTYPE r [<!ENTITY x "y">]>',
        b"\r",
        b"\n\n",
        b'"',
        b"'",
        b'"""',
    ),
    *(
        b"[[link]]",
        b"[",
        b"]",
        b"{",
        b"}",
        b"=",
        b"#",
        b"# about {",
        b"# events [{}]",
        b",",
        b",,",
        b"t",
        b"\t",
        b"../",
    ),
    *(b"[link.x]\n", b"name = 1\n", b"\xf0\x9f\xa4\x96", b"[bold]", b"%s%n", b"<link/>", b"<mimic/>", b"<xacro:if>"),
)


def _offset(rng: np.random.Generator, data: bytes) -> int:
    return int(rng.integers(len(data) + 1))


def flip(rng: np.random.Generator, data: bytes) -> bytes:
    """Flip a few bits."""
    mutated = bytearray(data)
    for _ in range(int(rng.integers(1, 8)) if data else 0):
        mutated[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(mutated)


def cut(rng: np.random.Generator, data: bytes) -> bytes:
    """Remove a part, or everything from some byte on."""
    start = _offset(rng, data)
    end = len(data) if rng.random() < 0.3 else start + int(rng.integers(1, 200))
    return data[:start] + data[end:]


def double(rng: np.random.Generator, data: bytes) -> bytes:
    """Repeat a part once or many times."""
    start = _offset(rng, data)
    end = start + int(rng.integers(1, 400))
    return data[:end] + data[start:end] * int(rng.choice([1, 1, 2, 50])) + data[end:]


def move(rng: np.random.Generator, data: bytes) -> bytes:
    """Move a part to another offset."""
    start = _offset(rng, data)
    end = start + int(rng.integers(1, 400))
    rest = data[:start] + data[end:]
    offset = _offset(rng, rest)
    return rest[:offset] + data[start:end] + rest[offset:]


def insert(rng: np.random.Generator, data: bytes) -> bytes:
    """Insert a piece of syntax."""
    offset = _offset(rng, data)
    return data[:offset] + PIECES[int(rng.integers(len(PIECES)))] + data[offset:]


def number(rng: np.random.Generator, data: bytes) -> bytes:
    """Replace a number by an extreme or malformed one."""
    return _exchange(rng, data, NUMBER, EXTREME[int(rng.integers(len(EXTREME)))])


def word(rng: np.random.Generator, data: bytes) -> bytes:
    """Replace a word by another word of the file."""
    words = [match.group() for match in WORD.finditer(data[:100_000])]
    return _exchange(rng, data, WORD, words[int(rng.integers(len(words)))]) if words else data


def tag(rng: np.random.Generator, data: bytes) -> bytes:
    """Replace a tag by another tag of the file, or remove it."""
    tags = [match.group() for match in TAG.finditer(data[:100_000])]
    if not tags:
        return word(rng, data)
    return _exchange(rng, data, TAG, b"" if rng.random() < 0.3 else tags[int(rng.integers(len(tags)))])


def nest(rng: np.random.Generator, data: bytes) -> bytes:
    """Insert deeply nested brackets or tags."""
    depth, offset = int(rng.choice([10, 200, 3000, 30000])), _offset(rng, data)
    pairs = ((b"[", b"]"), (b"<link>", b"</link>"), (b'{"a":', b"}"), (b"(", b")"), (b"{a=", b"}"), (b"<a>", b""))
    opening, closing = pairs[int(rng.integers(len(pairs)))]
    return data[:offset] + opening * depth + closing * depth + data[offset:]


def encode(rng: np.random.Generator, data: bytes) -> bytes:
    """Change the encoding or the line ends."""
    text = data.decode("utf-8", "replace")
    match int(rng.integers(6)):
        case 0:
            return text.encode("utf-16")
        case 1:
            return b"\xef\xbb\xbf" + data
        case 2:
            return data.replace(b"\n", b"\r\n")
        case 3:
            return b'<?xml version="1.0" encoding="ISO-8859-1"?>' + text.replace("a", "é").encode("latin-1", "replace")
        case 4:
            return text.replace("1", "１").encode()
        case _:
            return data.replace(b"\n", b"")


def _exchange(rng: np.random.Generator, data: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    """Replace the first match of a pattern behind a random offset."""
    start = _offset(rng, data)
    match = pattern.search(data, start) or pattern.search(data)
    return data[: match.start()] + new + data[match.end() :] if match else data + new


TEXT: tuple[Mutation, ...] = (flip, cut, double, move, insert, number, number, number, word, tag, tag, nest, encode)
BINARY: tuple[Mutation, ...] = (flip, flip, cut, double, move, insert)


def mutate(rng: np.random.Generator, data: bytes, mutations: tuple[Mutation, ...] = TEXT) -> bytes:
    """Apply one to four random mutations."""
    for _ in range(int(rng.choice([1, 1, 2, 2, 3, 4]))):
        data = mutations[int(rng.integers(len(mutations)))](rng, data)
    return data
