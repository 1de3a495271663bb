"""A growing graph: equal expressions are one node, and rules combine; test_fold.py tests each rule alone."""

from __future__ import annotations

import pytest

from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op


@pytest.fixture
def b():
    graph = Graph()
    graph.x, graph.y, graph.z = (graph.input(k) for k in range(3))
    graph.zero, graph.one, graph.two = (graph.const(c) for c in (0.0, 1.0, 2.0))
    return graph


def test_equal_expressions_are_one_node(b):
    assert b.add(b.x, b.y) == b.add(b.y, b.x)
    assert b.mul(b.sin(b.x), b.y) == b.mul(b.y, b.sin(b.x))


def test_zero_and_one_vanish(b):
    assert b.add(b.x, b.zero) == b.add(b.zero, b.x) == b.sub(b.x, b.zero) == b.x
    assert b.mul(b.one, b.x) == b.div(b.x, b.one) == b.x
    assert b.mul(b.x, b.zero) == b.sub(b.x, b.x) == b.div(b.zero, b.x) == b.zero


def test_minus_zero_is_zero(b):
    assert b.const(-0.0) == b.zero


def test_signs_move_outward(b):
    assert b.mul(b.neg(b.x), b.y) == b.neg(b.mul(b.x, b.y))
    assert b.mul(b.neg(b.x), b.neg(b.y)) == b.mul(b.x, b.y)
    assert b.mul(b.const(-2.0), b.x) == b.neg(b.mul(b.two, b.x))
    assert b.add(b.x, b.neg(b.y)) == b.sub(b.x, b.y)
    assert b.sub(b.neg(b.x), b.y) == b.neg(b.add(b.x, b.y))
    assert b.sin(b.neg(b.x)) == b.neg(b.sin(b.x))
    assert b.cos(b.neg(b.x)) == b.cos(b.x)
    assert b.neg(b.neg(b.x)) == b.x


def test_a_difference_and_its_opposite_are_one_node(b):
    difference = b.sub(b.x, b.y)
    assert b.sub(b.y, b.x) == b.neg(difference)


def test_constants_are_combined(b):
    assert b.mul(b.two, b.mul(b.const(3.0), b.x)) == b.mul(b.const(6.0), b.x)
    assert b.add(b.mul(b.two, b.x), b.mul(b.const(3.0), b.x)) == b.mul(b.const(5.0), b.x)
    assert b.sub(b.mul(b.two, b.x), b.x) == b.x
    assert b.add(b.two, b.const(3.0)) == b.const(5.0)


def test_sums_and_differences_of_the_same_terms_cancel(b):
    plus, minus = b.add(b.x, b.y), b.sub(b.x, b.y)
    assert b.sub(plus, minus) == b.add(b.y, b.y)
    assert b.add(plus, minus) == b.add(b.x, b.x)
    assert b.add(minus, plus) == b.add(b.x, b.x)


def test_select_with_a_known_result_is_folded(b):
    assert b.select(b.x, b.y, b.y) == b.y
    assert b.select(b.one, b.y, b.z) == b.y
    assert b.select(b.zero, b.y, b.z) == b.z


def test_the_square_root_of_a_negative_constant_is_left_to_run_time(b):
    root = b.sqrt(b.const(-1.0))
    assert b.nodes[root][0] == Op.SQRT
