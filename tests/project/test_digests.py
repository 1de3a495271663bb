"""Formulas do not change: a sample of `lab/tools/digests.json`, recomputed.

The sample has zoo systems only, because their formulas do not depend on the processor. Compare the complete file with
`python lab/tools/digests.py compare lab/tools/digests.json`. If a formula is meant to change, regenerate the file with
`write` instead of `compare`, and mention the change in the commit message.
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
    """Import the modules of the tool: driver and group `formulas`."""
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    import digest_formulas
    import digests

    return digests, digest_formulas


def stored(digests, prefix):
    """Return the stored digests of keys `prefix/<function>`."""
    content = digests.read(TOOLS / "digests.json")["digests"]
    return {key: value for key, value in content.items() if key.rpartition("/")[0] == prefix}


@pytest.mark.parametrize("name", SYSTEMS)
def test_formulas_equal_the_stored_digests_bit_for_bit(tools, name):
    digests, formulas = tools
    computed = digests.results("formulas", formulas.of_system(f"zoo/{name}", ap.load(name)))
    assert len(computed) > 35
    assert digests.differences(stored(digests, f"formulas/zoo/{name}"), computed) == []


def test_formulas_with_actuators_equal_the_stored_digests(tools):
    digests, formulas = tools
    computed = digests.results("formulas", formulas.of_drives("zoo/puma", ap.load("puma")))
    kinds = ("friction", "rotors", "friction+rotors")
    known = {key: value for kind in kinds for key, value in stored(digests, f"formulas/zoo/puma/{kind}").items()}
    assert len(computed) > 20
    assert digests.differences(known, computed) == []


def test_digests_distinguish_values(tools):
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
