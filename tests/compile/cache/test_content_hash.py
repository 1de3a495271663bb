"""Content hashes: equal for equal values, different for different ones, none for values that may change."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import appell as ap
from appell.compile.cache.content_hash import content_hash
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace

VALUES = [
    None,
    0,
    1,
    True,
    0.0,
    -0.0,
    1.0,
    "1",
    "a\nb",
    b"1",
    (),
    [],
    (1, 2),
    (1, (2,)),
    ((1,), 2),
    [1, 2],
    {1: 2},
    {2: 1},
    {1, 2},
    {1, 3},
    np.zeros(2),
    np.zeros(2, np.float32),
    np.zeros((2, 1)),
    trace("f", [Array("x", ())], lambda x: {"y": x + 1.0}),
    trace("g", [Array("x", ())], lambda x: {"y": x + 1.0}),
    trace("f", [Array("x", ())], lambda x: {"y": x + 2.0}),
    ap.load("puma"),
    replace(ap.load("puma"), name="another"),
]


def test_different_values_have_different_hashes():
    hashes = [content_hash(value) for value in VALUES]
    assert None not in hashes
    assert len(set(hashes)) == len(VALUES)
    assert content_hash("a", "b") != content_hash("ab") != content_hash(("a", "b"))


def test_the_smallest_change_of_a_robot_changes_the_hash():
    robot = ap.load("panda")
    link = robot.links[3]
    heavier = replace(link, body=replace(link.body, mass=np.nextafter(link.body.mass, 9.0).item()))
    assert content_hash(robot) == content_hash(ap.load("panda"))
    assert content_hash(robot) != content_hash(replace(robot, links=(*robot.links[:3], heavier, *robot.links[4:])))


@dataclass(frozen=True)
class Foreign:
    x: float = 1.0


class Odd(float):
    pass


@pytest.mark.parametrize("value", [len, lambda: 1, Foreign(), object(), Odd(1.0), np.array([None]), ap.load("delta")])
def test_values_without_a_content_hash_and_their_containers(value):
    assert content_hash(value) is None
    assert content_hash("a", [{"b": value}]) is None


def test_the_hash_does_not_depend_on_the_process_or_the_order_of_sets():
    script = """
import appell as ap
from appell.compile.cache.content_hash import content_hash
print(content_hash(ap.load("tree10"), {"a", "b", "c"}))
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {content_hash(ap.load("tree10"), {"a", "b", "c"}) + "\n"}
