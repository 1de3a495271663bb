"""Equality constraints of MJCF as the loops of a constrained robot.

    connect     Point      an anchor of one body on an anchor of another, or two sites
    weld        Weld       a pose of one body on a pose of another, or two sites
    joint       Gear       q₁ - ref₁ = c₀ + c₁ (q₂ - ref₂): two joints, or one that is held
    tendon      Gear       the same of two fixed tendons, which are sums of joints

MuJoCo lets its constraints give way like stiff springs; here they hold exactly. Those that are switched off at the
start are passed over with a word, the other kinds are refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.mjcf.engine import is_off, word
from appell.describe.mjcf.findings import Findings
from appell.describe.mjcf.tree import ModelTree, Stand, quaternion_pose, unique
from appell.model.constraint import Closure, Constraint, Gear, Point, Weld


def equalities(found: Findings, tree: ModelTree, builder: Builder) -> Iterator[tuple[Constraint, str]]:
    """Every constraint that holds at the start, and where it stands; the frames it ties are added to the builder."""
    model = found.model
    if is_off(model, "equality"):
        return
    for k in range(model.neq):
        name, where = found.name("equality", k), found.where("equality", k)
        kind = word("mjtEq", model.eq_type[k])
        if not model.eq_active0[k]:
            found.note(f"{kind} '{name}', which is switched off at the start")
        elif "equality" in found.without:
            found.note(f"{kind} '{name}'")
        elif kind in ("connect", "weld"):
            yield _closure(found, tree, builder, k, Point if kind == "connect" else Weld, name), where
        elif kind in ("joint", "tendon"):
            if gear := _gear(found, tree, k, name, where, kind):
                yield gear, where
        else:
            problem = f"<equality> has a {kind} '{name}', which appell cannot keep."
            found.refuse("equality", problem, where, "connect, weld, joint or tendon")


def _closure(found: Findings, tree: ModelTree, builder: Builder, k: int, kind: type[Closure], name: str) -> Constraint:
    """Between two sites, or between two frames that are added for it."""
    model = found.model
    data, first, second = model.eq_data[k], int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if word("mjtObj", model.eq_objtype[k]) == "site":
        return kind(tree.site_names[first], tree.site_names[second], name=name)
    if kind is Point:
        one, other = (tree.place(body, _shift(data[at : at + 3])) for body, at in ((first, 0), (second, 3)))
    else:  # a point of the second body, and where that body is in the first
        one = tree.place(first, quaternion_pose(data[3:6], data[6:10]))
        other = tree.place(second, _shift(data[0:3]))
    if one[0] is None:  # the world is side b of a closure
        one, other = other, one
    ends = [_end(builder, stand, f"{name}/{side}") for side, stand in zip("ab", (one, other), strict=True)]
    return kind(ends[0], ends[1], name=name)


def _end(builder: Builder, stand: Stand, name: str) -> str:
    taken = {*(part.name for part in builder.parts), *(frame.name for frame in builder.frames)}
    (free,) = unique([name], taken)
    builder.frame(free, on=stand[0], at=stand[1])
    return free


def _shift(numbers: np.ndarray) -> Pose:
    shift = Vec3.of([float(x) for x in numbers])
    return Pose(IDENTITY, shift if any(shift) else ZERO)


Length = tuple[dict[str, float], float]  # what is added up of joints, by their names, and its value at qpos0


def _joint_length(found: Findings, tree: ModelTree, joint: int) -> Length:
    model = found.model
    return {tree.joint_names[joint]: 1.0}, float(model.qpos0[model.jnt_qposadr[joint]])


def _tendon_length(found: Findings, tree: ModelTree, tendon: int) -> Length | None:
    """Of a fixed tendon, which adds up joints; None for one in space."""
    model, start = found.model, int(found.model.tendon_adr[tendon])
    ratios: dict[str, float] = {}
    for k in range(start, start + int(model.tendon_num[tendon])):
        if word("mjtWrap", model.wrap_type[k]) != "joint":
            return None
        name = tree.joint_names[int(model.wrap_objid[k])]
        ratios[name] = ratios.get(name, 0.0) + float(model.wrap_prm[k])
    return ratios, float(model.tendon_length0[tendon])


def _gear(found: Findings, tree: ModelTree, k: int, name: str, where: str, kind: str) -> Gear | None:
    """L₁ - L₁⁰ = c₀ + c₁ (L₂ - L₂⁰), of two joints or two fixed tendons; without a second, it is held."""
    model, length = found.model, _joint_length if kind == "joint" else _tendon_length
    constant, ratio, *higher = (float(x) for x in model.eq_data[k, :5])
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    what = f"<equality> ties {kind} '{found.name(kind, first)}'"
    if second >= 0 and any(higher):
        found.refuse("equality", f"{what} by a polynomial that is not linear.", where, 'polycoef="c0 c1 0 0 0"')
        return None
    one, other = length(found, tree, first), length(found, tree, second) if second >= 0 else ({}, 0.0)
    if one is None or other is None:
        found.refuse("equality", f"{what}, which runs through space.", where, "fixed tendons, which add up joints")
        return None
    ratios = dict(one[0])
    for joint, share in other[0].items():
        ratios[joint] = ratios.get(joint, 0.0) - ratio * share
    offset = one[1] + constant - ratio * other[1]
    return Gear({joint: share for joint, share in ratios.items() if share}, offset, name=name)
