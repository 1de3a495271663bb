"""Base parameters in words: the numbers of B, explained by the lengths of the robot.

A number that is a length of the robot, a product of two, a sum of two such products or of three squares, times 1,
2 or ½, is written with the names of the lengths. A coincidence must not pass for a reason, so the explanation has
to hold on three robots: the given one and two with the same zeros whose lengths have been changed at random.

    aᵢ, dᵢ        distance along the parent's x and along the joint's axis, where the placement turns about x only (DH)
    xᵢ, yᵢ, zᵢ    the joint's place in its parent, otherwise
    cᵢ, sᵢ        cosine and sine of a twist that is no multiple of a right angle
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, combinations_with_replacement

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.formulate.base import known_by
from appell.identify.base.reduce import BaseParameters, structural_kernel
from appell.identify.estimators.one_thread import calm
from appell.model.robot import Link, Robot

SAME = 1e-9
LINE = 110
Names = dict[str, np.ndarray]  # expression -> its value on the given robot and on the changed ones


@calm
def describe(base: BaseParameters) -> str:
    """One line a base parameter, then what has no effect, then the numbering of bodies and drives."""
    matrices, lengths = _variants(base)
    candidates = _expressions(lengths)
    lines = [f"{base}", ""]
    width = max(len(name) for name in base.names)
    for row, name in enumerate(base.names):
        terms: dict[str, list[str]] = {}
        for k, parameter in enumerate(base.sought.parameters):
            if base.matrix[row, k] != 0.0:
                coefficient = _name(np.array([matrix[row, k] for matrix in matrices]), candidates)
                terms.setdefault(coefficient, []).append(parameter.name)
        lines.append(_wrapped(f"{row + 1:4d}  {name:<{width}} = ", _sum(name, terms)))
    if base.without_effect:
        lines += ["", _wrapped("no effect on any joint: ", [f"{c.name}," for c in base.without_effect]).rstrip(",")]
    lines += ["", "bodies  " + ", ".join(f"{k + 1} {name}" for k, name in enumerate(base.sought.system.bodies))]
    if base.sought.kinds:
        drives = enumerate(base.sought.system.actuator_names, start=1)
        lines.append("drives  " + ", ".join(f"{k} {name}" for k, name in drives))
    if lengths:
        known = ", ".join(f"{name} = {values[0]:.6g}" for name, values in lengths.items())
        lines.append(f"lengths {known}")
    if base.structural is not None and base.structural != base.count:
        lines.append(
            f"The structure alone gives {base.structural}; the regressor has rank {base.rank}, which is taken."
        )
    return "\n".join(lines)


def _variants(base: BaseParameters) -> tuple[list[np.ndarray], Names]:
    """B of the robot and of two with other lengths, and the lengths of all three by name."""
    robot = base.sought.system
    if not robot.is_tree or base.structural != base.count:
        return [base.matrix], {}
    matrices, lengths = [base.matrix], {name: [value] for name, value in _lengths(robot.tree)}
    for seed in (1, 2):
        other = _stretched(robot.tree, np.random.default_rng(seed))
        null = structural_kernel(replace(base.sought, system=other))
        if null is None or null.shape[1] != base.matrix.shape[1] - base.count:
            return [base.matrix], {}
        matrices.append(known_by(null, list(base.columns))[1])
        for name, value in _lengths(other):
            lengths[name].append(value)
    return matrices, {name: np.array(values) for name, values in lengths.items()}


def _stretched(robot: Robot, rng: np.random.Generator) -> Robot:
    def placed(link: Link) -> Link:
        pose = link.joint.placement
        factors = rng.uniform(0.6, 1.6, 3)
        if _is_dh(pose):
            a, d = _dh(pose)
            axis = pose.rotation @ Vec3(0.0, 0.0, 1.0)
            moved = Vec3(a * factors[0], 0.0, 0.0) + (d * factors[1]) * axis
        else:
            moved = Vec3.of([x * f for x, f in zip(pose.translation, factors, strict=True)])
        return replace(link, joint=replace(link.joint, placement=Pose(pose.rotation, moved)))

    return replace(robot, links=tuple(placed(link) for link in robot.links))


def _lengths(robot: Robot) -> Iterator[tuple[str, float]]:
    for k, link in enumerate(robot.links):
        pose = link.joint.placement
        numbers = zip("ad", _dh(pose), strict=True) if _is_dh(pose) else zip("xyz", pose.translation, strict=True)
        yield from ((f"{letter}{k + 1}", float(value)) for letter, value in numbers if abs(value) > SAME)
        cosine, sine = pose.rotation.rows[1].y, pose.rotation.rows[2].y
        if _is_dh(pose) and min(abs(cosine), abs(sine)) > SAME:
            yield from ((f"c{k + 1}", float(cosine)), (f"s{k + 1}", float(sine)))


def _is_dh(pose: Pose) -> bool:
    """Turned about x only, and moved along x and along the new z only."""
    x = pose.rotation.rows[0]
    if abs(x.x - 1.0) > SAME:
        return False
    local = pose.rotation.T @ pose.translation
    return abs(local.y) < SAME


def _dh(pose: Pose) -> tuple[float, float]:
    return float(pose.translation.x), float((pose.rotation.T @ pose.translation).z)


def _expressions(lengths: Names) -> Names:
    """Lengths, their products, sums of two products and of three squares; sums only if there are few lengths."""
    if not lengths:
        return {}
    products = {
        f"{x}²" if x == y else f"{x} {y}": lengths[x] * lengths[y] for x, y in combinations_with_replacement(lengths, 2)
    }
    found = dict(lengths) | products
    if len(products) <= 150:
        for (x, first), (y, second) in combinations(products.items(), 2):
            found[f"({x} + {y})"] = first + second
            found[f"({x} - {y})"] = first - second
    squares = {x: values * values for x, values in lengths.items()}
    for triple in combinations(squares, 3):
        found[f"({' + '.join(f'{x}²' for x in triple)})"] = np.sum([squares[x] for x in triple], axis=0)
    return found


def _name(values: np.ndarray, candidates: Names) -> str:
    """A signed coefficient as text: a whole number, an expression, or the number itself."""
    if abs(values[0] - round(values[0])) < SAME and np.ptp(values) < SAME:
        return f"{round(values[0])}"
    if len(values) == 3:
        for text, of_text in candidates.items():
            for factor, prefix in ((1.0, ""), (2.0, "2 "), (0.5, "½ ")):
                for sign in (1.0, -1.0):
                    if np.allclose(values, sign * factor * of_text, rtol=SAME, atol=0.0):
                        return ("-" if sign < 0 else "") + prefix + text
    return f"{values[0]:.6g}"


def _sum(lead: str, terms: dict[str, list[str]]) -> list[str]:
    """The terms, the kept parameter first; parameters with one coefficient in one bracket."""
    ordered = sorted(terms.items(), key=lambda item: (lead not in item[1], item[0] not in ("1", "-1")))
    found = []
    for coefficient, names in ordered:
        names = sorted(names, key=lambda name: name != lead)
        if coefficient in ("1", "-1"):
            parts = [("- " if coefficient == "-1" else "+ ") + name for name in names]
        else:
            sign, size = ("- ", coefficient[1:]) if coefficient.startswith("-") else ("+ ", coefficient)
            bracket = f"({' + '.join(names)})" if len(names) > 1 else names[0]
            parts = [f"{sign}{size} {bracket}"]
        found += parts
    found[0] = found[0].removeprefix("+ ")
    return found


def _wrapped(head: str, parts: list[str]) -> str:
    lines, line = [], head
    for part in parts:
        if len(line) + len(part) > LINE and line.strip():
            lines.append(line.rstrip())
            line = " " * len(head)
        line += part + " "
    return "\n".join([*lines, line.rstrip()])
