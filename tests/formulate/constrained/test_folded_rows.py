"""Traced rows contain literal zeros out of the plane of a loop, and equal expressions for wheels on one axle."""

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


def traced(robot, constraints):
    """Rows over traced scalars."""
    traced_rows = []

    def run(q, w):
        traced_rows.extend(rows(Tree.of(robot), constraints, q, w))
        return {"drift": [row.drift for row in traced_rows]}

    trace("rows", [Array("q", (robot.nq,)), Array("w", (robot.nv,))], run)
    return traced_rows


def is_zero(scalar):
    return isinstance(scalar, float) and scalar == 0.0


def is_trivial(row):
    return all(map(is_zero, row.jacobian)) and is_zero(row.drift)


def random_rotation(rng):
    """Random rotation."""
    return of_quaternion(*random_quaternion(rng).tolist())


def planar_loop(rng, base="floating", axes="any"):
    """Four-bar linkage in a random plane on a base, with random link axes, all described in rounded numbers.

    In the plane, joints are at `pins`; the axes of each link are rotated relative to the plane by `axes_of`.
    """
    plane = Pose(random_rotation(rng), Vec3.of(rng.uniform(-1.0, 1.0, 3).tolist()))
    pins = [Vec3(*xy, 0.0) for xy in ((0.0, 0.0), (0.3, 0.1), (1.0, 0.4), (0.8, -0.2))]
    pick = {"any": lambda: random_rotation(rng), "plain": lambda: Mat3.of(np.eye(3).tolist())}[axes]
    axes_of = {name: pick() for name in ("crank", "coupler", "rocker")}
    builder = ap.Builder("loop", base=base, root="base")

    def add(name, parent, within, pin):
        at = within @ Pose(axes_of[name], pin)
        builder.link(name, ap.Revolute(list(axes_of[name].T @ Vec3(0.0, 0.0, 1.0))), parent=parent, at=at)

    add("crank", "base", plane, pins[0])
    add("coupler", "crank", Pose(axes_of["crank"].T), pins[1] - pins[0])
    add("rocker", "base", plane, pins[3])
    builder.frame("tip", on="coupler", at=Pose(axes_of["coupler"].T) @ Pose(translation=pins[2] - pins[1]))
    builder.frame("pin", on="rocker", at=Pose(axes_of["rocker"].T) @ Pose(translation=pins[2] - pins[3]))
    return builder.build()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("axes", ["any", "plain"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_row_out_of_the_plane_of_a_loop_is_zero_for_any_orientation_of_the_plane(base, axes, seed):
    robot = planar_loop(np.random.default_rng(seed), base, axes)
    traced_rows = traced(robot, [con.Point("tip", "pin")])
    assert sum(map(is_trivial, traced_rows)) == 1
    base_nv = robot.nv - 3
    assert all(is_zero(entry) for row in traced_rows for entry in row.jacobian[:base_nv])
    assert all(not is_zero(entry) for row in traced_rows if not is_trivial(row) for entry in row.jacobian[base_nv:])


@pytest.mark.parametrize("seed", range(3))
def test_a_planar_loop_closed_by_a_hinge_has_two_nontrivial_rows(seed):
    robot = planar_loop(np.random.default_rng(seed), "floating", "plain")
    assert [is_trivial(row) for row in traced(robot, [con.Hinge("tip", "pin")])] == [False, False, True, True, True]


def test_a_weld_of_a_foot_has_unit_columns_for_the_base_and_other_columns_do_not_depend_on_its_orientation():
    builder = ap.Builder("leg", base="floating", root="base")
    builder.link("thigh", ap.Revolute((0.0, 1.0, 0.0)), parent="base", xyz=(0.1, 0.2, 0.0))
    builder.link("shank", ap.Revolute((0.0, 1.0, 0.0)), parent="thigh", xyz=(0.0, 0.0, -0.4))
    robot = builder.build()
    traced_rows = traced(robot, [con.Weld("shank", Pose(translation=Vec3(0.1, 0.2, 0.0)))])
    block = [[entry if isinstance(entry, float) else None for entry in row.jacobian] for row in traced_rows]
    assert [row[:3] for row in block[:3]] == np.eye(3).tolist()
    assert [row[3:6] for row in block[3:]] == np.eye(3).tolist()
    assert [row[6:] for row in block[3:]] == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def cart(base="planar", *, axle=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), caster=True):
    """Differential drive; `axle` are the angles of the placement of the wheels' joints, `axis` is their axis there."""
    builder = ap.Builder("cart", base=base, root="chassis")
    for name, side in (("left", 0.2), ("right", -0.2)):
        builder.link(name, ap.Revolute(axis), parent="chassis", xyz=(0.0, side, 0.1), rpy=axle)
    if caster:
        builder.link("swivel", ap.Revolute((0.0, 0.0, 1.0)), parent="chassis", xyz=(-0.3, 0.0, 0.1))
        builder.link("caster", ap.Revolute((0.0, 1.0, 0.0)), parent="swivel", xyz=(-0.05, 0.0, -0.05))
    return builder.build()


@pytest.mark.parametrize("placed", [{}, {"axle": (-np.pi / 2, 0.0, 0.0), "axis": (0.0, 0.0, 1.0)}], ids=["y", "urdf"])
def test_two_wheels_on_one_axle_have_equal_lateral_rows(placed):
    robot, axis = cart(**placed, caster=False), "z" if placed else "y"
    held = [con.Rolling(name, 0.1, axis=axis) for name in ("left", "right")]
    traced_rows = traced(robot, held)
    for row in (traced_rows[1], traced_rows[4]):
        assert row.jacobian == [0.0, 1.0, 0.0, 0.0, 0.0]
        assert is_zero(row.drift)


def test_two_wheels_on_one_steered_axle_have_equal_lateral_rows():
    builder = ap.Builder("cart", base="planar", root="chassis")
    builder.link("axle", ap.Revolute((0.0, 0.0, 1.0)), parent="chassis", xyz=(0.5, 0.0, 0.1))
    for name, side in (("left", 0.2), ("right", -0.2)):
        builder.link(name, ap.Revolute((0.0, 1.0, 0.0)), parent="axle", xyz=(0.0, side, 0.0))
    traced_rows = traced(builder.build(), [con.Rolling("left", 0.1), con.Rolling("right", 0.1)])
    left, right = (
        [entry.index if isinstance(entry, Traced) else entry for entry in traced_rows[k].jacobian] for k in (1, 4)
    )
    assert left == right
    assert sum(isinstance(entry, int) for entry in left) == 3


def test_the_normal_rows_of_wheels_on_a_planar_base_are_trivial():
    robot = cart()
    traced_rows = traced(robot, [con.Rolling("left", 0.1), con.Rolling("right", 0.1), con.Rolling("caster", 0.05)])
    assert [is_trivial(row) for row in traced_rows] == [False, False, True] * 3


def test_the_normal_rows_of_wheels_on_a_floating_base_are_not_trivial():
    traced_rows = traced(cart("floating", caster=False), [con.Rolling("left", 0.1), con.Rolling("right", 0.1)])
    assert not any(map(is_trivial, traced_rows))


def test_the_row_of_a_blade_depends_only_on_its_link_and_its_carriers():
    robot = cart(caster=True)
    (row,) = traced(robot, [con.Skate("swivel")])
    assert [is_zero(entry) for entry in row.jacobian] == [False, False, False, True, True, True, True]


def test_a_gear_on_a_mimic_joint_acts_on_its_leader():
    builder = ap.Builder("fingers", root=None)
    builder.link("first", ap.Revolute((0.0, 0.0, 1.0)), joint_name="first")
    builder.link("second", ap.Revolute((0.0, 0.0, 1.0)), joint_name="second", mimic=ap.Mimic("first", 2.0, 0.3))
    builder.link("third", ap.Prismatic((0.0, 0.0, 1.0)), joint_name="third")
    robot = builder.build()
    (row,) = rows(Tree.of(robot), [con.Gear({"second": 1.5, "third": -4.0}, 0.1)], [0.7, 0.2], [0.0, 0.0])
    assert row.jacobian == [3.0, -4.0]
    assert row.gap == pytest.approx(1.5 * (2.0 * 0.7 + 0.3) - 4.0 * 0.2 - 0.1)
