"""What rows fold to when they are traced: literal zeros out of the plane of a loop, and one expression for one axle."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import Traced, trace
from appell.formulate.constrained.rows import rows
from appell.formulate.tree import Tree
from appell.model import constraint as con
from appell.model.joints import random_quaternion

STILL = Vec3(0.0, 0.0, 0.0)


def traced(robot, constraints):
    """The rows over traced scalars."""
    found = []

    def run(q, w):
        found.extend(rows(Tree.of(robot), constraints, q, w))
        return {"drift": [row.drift for row in found]}

    trace("rows", [Array("q", (robot.nq,)), Array("w", (robot.nv,))], run)
    return found


def is_zero(scalar):
    return isinstance(scalar, float) and scalar == 0.0


def says_nothing(row):
    return all(map(is_zero, row.jacobian)) and is_zero(row.drift)


def turned(rng):
    """A rotation that fits nothing."""
    return of_quaternion(*random_quaternion(rng).tolist())


def planar_loop(rng, base="floating", axes="any"):
    """Four bars in a plane that lies anyhow on a base, each link in axes of its own, all described in rounded numbers.

    In the plane, joints are at `pins`; the axes of each link are turned against the plane's by `own`.
    """
    plane = Pose(turned(rng), Vec3.of(rng.uniform(-1.0, 1.0, 3).tolist()))
    pins = [Vec3(*xy, 0.0) for xy in ((0.0, 0.0), (0.3, 0.1), (1.0, 0.4), (0.8, -0.2))]
    pick = {"any": lambda: turned(rng), "plain": lambda: Mat3.of(np.eye(3).tolist())}[axes]
    own = {name: pick() for name in ("crank", "coupler", "rocker")}
    made = ap.Builder("loop", base=base, root="base")

    def add(name, parent, within, pin):
        at = within @ Pose(own[name], pin)
        made.link(name, ap.Revolute(list(own[name].T @ Vec3(0.0, 0.0, 1.0))), parent=parent, at=at)

    add("crank", "base", plane, pins[0])
    add("coupler", "crank", Pose(own["crank"].T), pins[1] - pins[0])
    add("rocker", "base", plane, pins[3])
    made.frame("tip", on="coupler", at=Pose(own["coupler"].T) @ Pose(translation=pins[2] - pins[1]))
    made.frame("pin", on="rocker", at=Pose(own["rocker"].T) @ Pose(translation=pins[2] - pins[3]))
    return made.build()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("axes", ["any", "plain"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_row_out_of_the_plane_of_a_loop_is_zero_wherever_the_plane_lies(base, axes, seed):
    robot = planar_loop(np.random.default_rng(seed), base, axes)
    found = traced(robot, [con.Point("tip", "pin")])
    assert sum(map(says_nothing, found)) == 1
    own = robot.nv - 3
    assert all(is_zero(entry) for row in found for entry in row.jacobian[:own])  # the base drops out
    assert all(not is_zero(entry) for row in found if not says_nothing(row) for entry in row.jacobian[own:])


@pytest.mark.parametrize("seed", range(3))
def test_a_planar_loop_that_a_hinge_closes_has_two_rows_that_say_something(seed):
    robot = planar_loop(np.random.default_rng(seed), "floating", "plain")
    assert [says_nothing(row) for row in traced(robot, [con.Hinge("tip", "pin")])] == [False, False, True, True, True]


def test_a_weld_of_a_foot_has_unit_columns_for_the_base_and_no_orientation_of_it_elsewhere():
    made = ap.Builder("leg", base="floating", root="base")
    made.link("thigh", ap.Revolute((0.0, 1.0, 0.0)), parent="base", xyz=(0.1, 0.2, 0.0))
    made.link("shank", ap.Revolute((0.0, 1.0, 0.0)), parent="thigh", xyz=(0.0, 0.0, -0.4))
    robot = made.build()
    found = traced(robot, [con.Weld("shank", Pose(translation=Vec3(0.1, 0.2, 0.0)))])
    block = [[entry if isinstance(entry, float) else None for entry in row.jacobian] for row in found]
    assert [row[:3] for row in block[:3]] == np.eye(3).tolist()
    assert [row[3:6] for row in block[3:]] == np.eye(3).tolist()
    assert [row[6:] for row in block[3:]] == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def cart(base="planar", *, axle=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), caster=True):
    """A differential drive; `axle` are the angles by which the wheels' joints are placed, `axis` turns in them."""
    made = ap.Builder("cart", base=base, root="chassis")
    for name, side in (("left", 0.2), ("right", -0.2)):
        made.link(name, ap.Revolute(axis), parent="chassis", xyz=(0.0, side, 0.1), rpy=axle)
    if caster:
        made.link("swivel", ap.Revolute((0.0, 0.0, 1.0)), parent="chassis", xyz=(-0.3, 0.0, 0.1))
        made.link("caster", ap.Revolute((0.0, 1.0, 0.0)), parent="swivel", xyz=(-0.05, 0.0, -0.05))
    return made.build()


@pytest.mark.parametrize("placed", [{}, {"axle": (-np.pi / 2, 0.0, 0.0), "axis": (0.0, 0.0, 1.0)}], ids=["y", "urdf"])
def test_two_wheels_of_one_axle_have_one_lateral_row(placed):
    robot, axis = cart(**placed, caster=False), "z" if placed else "y"
    held = [con.Rolling(name, 0.1, axis=axis) for name in ("left", "right")]
    found = traced(robot, held)
    for row in (found[1], found[4]):
        assert row.jacobian == [0.0, 1.0, 0.0, 0.0, 0.0]
        assert is_zero(row.drift)


def test_two_wheels_of_one_steered_axle_have_one_lateral_row():
    made = ap.Builder("cart", base="planar", root="chassis")
    made.link("axle", ap.Revolute((0.0, 0.0, 1.0)), parent="chassis", xyz=(0.5, 0.0, 0.1))
    for name, side in (("left", 0.2), ("right", -0.2)):
        made.link(name, ap.Revolute((0.0, 1.0, 0.0)), parent="axle", xyz=(0.0, side, 0.0))
    found = traced(made.build(), [con.Rolling("left", 0.1), con.Rolling("right", 0.1)])
    left, right = ([entry.index if isinstance(entry, Traced) else entry for entry in found[k].jacobian] for k in (1, 4))
    assert left == right
    assert sum(isinstance(entry, int) for entry in left) == 3


def test_wheels_on_a_base_that_moves_in_a_plane_have_no_normal_row():
    robot = cart()
    found = traced(robot, [con.Rolling("left", 0.1), con.Rolling("right", 0.1), con.Rolling("caster", 0.05)])
    assert [says_nothing(row) for row in found] == [False, False, True] * 3


def test_wheels_on_a_base_that_floats_have_normal_rows():
    found = traced(cart("floating", caster=False), [con.Rolling("left", 0.1), con.Rolling("right", 0.1)])
    assert not any(map(says_nothing, found))


def test_a_blade_sees_its_link_and_what_carries_it_alone():
    robot = cart(caster=True)
    (row,) = traced(robot, [con.Skate("swivel")])
    assert [is_zero(entry) for entry in row.jacobian] == [False, False, False, True, True, True, True]


def test_a_gear_on_a_mimic_joint_means_its_leader():
    made = ap.Builder("fingers", root=None)
    made.link("first", ap.Revolute((0.0, 0.0, 1.0)), joint_name="first")
    made.link("second", ap.Revolute((0.0, 0.0, 1.0)), joint_name="second", mimic=ap.Mimic("first", 2.0, 0.3))
    made.link("third", ap.Prismatic((0.0, 0.0, 1.0)), joint_name="third")
    robot = made.build()
    (row,) = rows(Tree.of(robot), [con.Gear({"second": 1.5, "third": -4.0}, 0.1)], [0.7, 0.2], [0.0, 0.0])
    assert row.jacobian == [3.0, -4.0]
    assert row.gap == pytest.approx(1.5 * (2.0 * 0.7 + 0.3) - 4.0 * 0.2 - 0.1)
