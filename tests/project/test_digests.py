"""Formulas stay what they are: a sample of `lab/tools/digests.json`, recomputed.

The sample has zoo systems only, because their formulas do not depend on the processor. The whole file is compared by
`python lab/tools/digests.py compare lab/tools/digests.json`. If a formula is meant to change, write the file anew with
`write` in place of `compare`, and list the change in the note of the commit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import appell as ap

TOOLS = Path(__file__).parents[2] / "lab" / "tools"
SYSTEMS = ("planar-2r", "puma", "box", "five-bar", "four-bar")


@pytest.fixture
def tools(monkeypatch):
    """The modules of the tool: driver and group `formulas`."""
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    import digest_formulas
    import digests

    return digests, digest_formulas


def stored(digests, prefix):
    """The stored digests of keys `prefix/<function>`."""
    content = digests.read(TOOLS / "digests.json")["digests"]
    return {key: value for key, value in content.items() if key.rpartition("/")[0] == prefix}


@pytest.mark.parametrize("name", SYSTEMS)
def test_formulas_are_bit_for_bit_those_of_the_stored_digests(tools, name):
    digests, formulas = tools
    found = digests.results("formulas", formulas.of_system(f"zoo/{name}", ap.load(name)))
    assert len(found) > 35
    assert digests.differences(stored(digests, f"formulas/zoo/{name}"), found) == []


def test_formulas_with_drives_are_those_of_the_stored_digests(tools):
    digests, formulas = tools
    found = digests.results("formulas", formulas.of_drives("zoo/puma", ap.load("puma")))
    kinds = ("friction", "rotors", "friction+rotors")
    known = {key: value for kind in kinds for key, value in stored(digests, f"formulas/zoo/puma/{kind}").items()}
    assert len(found) > 20
    assert digests.differences(known, found) == []


def test_digests_tell_values_apart(tools):
    digests, _ = tools
    values = [0.0, -0.0, 0, False, None, "0", b"0", [0], [[0]], {"a": 0}, {"a": 1}, (0, 0), ["ab", "c"], ["a", "bc"]]
    assert len({digests.digest(value) for value in values}) == len(values)
    assert digests.digest([1.5, "x"]) == digests.digest((1.5, "x"))
    with pytest.raises(TypeError, match="no digest for a object"):
        digests.digest(object())


def test_differences_name_every_key(tools):
    digests, _ = tools
    assert digests.differences({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == [
        "differs      b: 2 -> 4",
        "disappeared  c: 3",
        "appeared     d: 5",
    ]
