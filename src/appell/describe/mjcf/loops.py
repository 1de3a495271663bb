"""Equality constraints of MJCF as constraints of a robot.

    connect     Point      an anchor of one body on an anchor of another, or two sites
    weld        Weld       a pose of one body on a pose of another, or two sites; Point if torquescale is 0
    joint       Gear       q₁ - ref₁ = c₀ + c₁ (q₂ - ref₂): two joints, or one that is locked
    tendon      Gear       the same for two fixed tendons, which are weighted sums of joints

Constraints of MuJoCo are compliant, like stiff springs; here they hold exactly. Constraints that are inactive at the
start are ignored with a warning, other kinds are rejected.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.mjcf.compiler import enum_name, is_disabled
from appell.describe.mjcf.context import ReadContext
from appell.describe.mjcf.tree import ModelTree, quaternion_pose, unique
from appell.model.constraint import Closure, Constraint, Gear, Point, Weld
from appell.model.visual import Attachment

TORQUE_SCALE = 10  # index of torquescale in the data of a weld


def equalities(context: ReadContext, tree: ModelTree, builder: Builder) -> Iterator[tuple[Constraint, str]]:
    """Yield every constraint that is active at the start, with its file and line.

    Parameters
    ----------
    context : the compiled model
    tree : its bodies
    builder : receives the frames that the constraints connect
    """
    model = context.model
    if is_disabled(model, "equality"):
        return
    for k in range(model.neq):
        name, where = context.name("equality", k), context.where("equality", k)
        kind = enum_name("mjtEq", model.eq_type[k])
        if not model.eq_active0[k]:
            context.note(f"{kind} constraint '{name}', which is inactive at the start")
        elif "equality" in context.without:
            context.note(f"{kind} constraint '{name}'")
        elif kind in ("connect", "weld"):
            yield _closure(context, tree, builder, k, kind, name), where
        elif kind in ("joint", "tendon"):
            if gear := _gear(context, tree, k, name, where, kind):
                yield gear, where
        else:
            problem = f"<equality> contains the {kind} '{name}', which appell does not support."
            context.reject("equality", problem, where, "connect, weld, joint or tendon")


def _closure(context: ReadContext, tree: ModelTree, builder: Builder, k: int, kind: str, name: str) -> Constraint:
    """Return the constraint between two sites, or between two frames that are added for it.

    MuJoCo multiplies the rotational rows of a weld by torquescale. With 0 these rows vanish, and the weld is a point.
    """
    model = context.model
    data, first, second = model.eq_data[k], int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    constraint: type[Closure] = Weld if kind == "weld" and data[TORQUE_SCALE] else Point
    if enum_name("mjtObj", model.eq_objtype[k]) == "site":
        return constraint(tree.site_names[first], tree.site_names[second], name=name)
    if kind == "connect":
        one, other = (tree.attach(body, _shift(data[at : at + 3])) for body, at in ((first, 0), (second, 3)))
    else:  # a point of the second body, and the pose of that body in the first
        one = tree.attach(first, quaternion_pose(data[3:6], data[6:10]))
        other = tree.attach(second, _shift(data[0:3]))
    if one[0] is None:  # the world must be side b of a closure
        one, other = other, one
    ends = [_add_frame(builder, end, f"{name}/{side}") for side, end in zip("ab", (one, other), strict=True)]
    return constraint(ends[0], ends[1], name=name)


def _add_frame(builder: Builder, attachment: Attachment, name: str) -> str:
    """Add a frame for one end of a constraint, and return its name."""
    taken = {*(part.name for part in builder.parts), *(frame.name for frame in builder.frames)}
    (free,) = unique([name], taken)
    builder.frame(free, on=attachment[0], at=attachment[1])
    return free


def _shift(numbers: np.ndarray) -> Pose:
    shift = Vec3.of([float(x) for x in numbers])
    return Pose(IDENTITY, shift if any(shift) else ZERO)


Length = tuple[dict[str, float], float]  # coefficients of joints by name, and the value of their sum at qpos0


def _joint_length(context: ReadContext, tree: ModelTree, joint: int) -> Length:
    model = context.model
    return {tree.joint_names[joint]: 1.0}, float(model.qpos0[model.jnt_qposadr[joint]])


def _tendon_length(context: ReadContext, tree: ModelTree, tendon: int) -> Length | None:
    """Return the length of a fixed tendon, a weighted sum of joints; None for a spatial tendon."""
    model, start = context.model, int(context.model.tendon_adr[tendon])
    ratios: dict[str, float] = {}
    for k in range(start, start + int(model.tendon_num[tendon])):
        if enum_name("mjtWrap", model.wrap_type[k]) != "joint":
            return None
        name = tree.joint_names[int(model.wrap_objid[k])]
        ratios[name] = ratios.get(name, 0.0) + float(model.wrap_prm[k])
    return ratios, float(model.tendon_length0[tendon])


def _gear(context: ReadContext, tree: ModelTree, k: int, name: str, where: str, kind: str) -> Gear | None:
    """Return L₁ - L₁⁰ = c₀ + c₁ (L₂ - L₂⁰) for two joints or two fixed tendons; a single one is locked."""
    model, length = context.model, _joint_length if kind == "joint" else _tendon_length
    constant, ratio, *higher = (float(x) for x in model.eq_data[k, :5])
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    what = f"<equality> constrains {kind} '{context.name(kind, first)}'"
    if second >= 0 and any(higher):
        context.reject("equality", f"{what} by a nonlinear polynomial.", where, 'polycoef="c0 c1 0 0 0"')
        return None
    one, other = length(context, tree, first), length(context, tree, second) if second >= 0 else ({}, 0.0)
    if one is None or other is None:
        context.reject("equality", f"{what}, which is a spatial tendon.", where, "fixed tendons")
        return None
    ratios = dict(one[0])
    for joint, share in other[0].items():
        ratios[joint] = ratios.get(joint, 0.0) - ratio * share
    offset = one[1] + constant - ratio * other[1]
    return Gear({joint: share for joint, share in ratios.items() if share}, offset, name=name)
