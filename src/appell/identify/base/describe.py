"""Base parameters as text: every base parameter as a linear combination of the parameters of bodies and actuators.

A coefficient of B that is a length of the robot, a product of two lengths, a sum or difference of two such products, or
a sum of three squares, times 1, 2 or ½, is written with the names of the lengths. To exclude coincidences, an
expression has to hold for three robots: the given one, and two with the same zeros and randomly changed lengths.

    aᵢ, dᵢ        distances along the parent's x and along the joint's axis, if the placement rotates only about x (DH)
    xᵢ, yᵢ, zᵢ    position of the joint in its parent, otherwise
    cᵢ, sᵢ        cosine and sine of a twist that is not a multiple of a right angle
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, combinations_with_replacement

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.formulate.base import base_matrix
from appell.identify.base.reduce import BaseParameters, structural_kernel
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.model.robot import Link, Robot

TOLERANCE = 1e-9  # on lengths in m, and relative on coefficients: smaller differences count as rounding
LINE_WIDTH = 110  # characters
MAX_PRODUCTS = 150  # sums of two products are only tried up to this number of products
Names = dict[str, np.ndarray]  # expression -> its values for the given robot and for the changed ones


@limit_blas_threads
def describe(base: BaseParameters) -> str:
    """Return one line per base parameter, then parameters without effect, bodies, drives and lengths."""
    matrices, lengths = _variants(base)
    candidates = _expressions(lengths)
    lines = [f"{base}", ""]
    width = max(len(name) for name in base.names)
    for row, name in enumerate(base.names):
        terms: dict[str, list[str]] = {}
        for k, parameter in enumerate(base.parameter_set.parameters):
            if base.matrix[row, k] != 0.0:
                coefficient = _name(np.array([matrix[row, k] for matrix in matrices]), candidates)
                terms.setdefault(coefficient, []).append(parameter.name)
        lines.append(_wrapped(f"{row + 1:4d}  {name:<{width}} = ", _sum(name, terms)))
    if base.without_effect:
        lines += ["", _wrapped("no effect on any joint: ", [f"{c.name}," for c in base.without_effect]).rstrip(",")]
    lines += ["", "bodies  " + ", ".join(f"{k + 1} {name}" for k, name in enumerate(base.parameter_set.system.bodies))]
    if base.parameter_set.kinds:
        drives = enumerate(base.parameter_set.system.actuator_names, start=1)
        lines.append("drives  " + ", ".join(f"{k} {name}" for k, name in drives))
    if lengths:
        known = ", ".join(f"{name} = {values[0]:.6g}" for name, values in lengths.items())
        lines.append(f"lengths {known}")
    if base.structural is not None and base.structural != base.count:
        lines.append(
            f"The structure of the tree gives {base.structural} base parameters; "
            f"the rank of the regressor, {base.rank}, is used."
        )
    return "\n".join(lines)


def _variants(base: BaseParameters) -> tuple[list[np.ndarray], Names]:
    """Return B for the robot and for two robots with other lengths, and the lengths of all three by name."""
    robot = base.parameter_set.system
    if not robot.is_tree or base.structural != base.count:
        return [base.matrix], {}
    matrices, lengths = [base.matrix], {name: [value] for name, value in _lengths(robot.tree)}
    for seed in (1, 2):
        other = _stretched(robot.tree, np.random.default_rng(seed))
        null = structural_kernel(replace(base.parameter_set, system=other))
        if null is None or null.shape[1] != base.matrix.shape[1] - base.count:
            return [base.matrix], {}
        matrices.append(base_matrix(null, list(base.columns))[1])
        for name, value in _lengths(other):
            lengths[name].append(value)
    return matrices, {name: np.array(values) for name, values in lengths.items()}


def _stretched(robot: Robot, rng: np.random.Generator) -> Robot:
    """Return the robot with every length multiplied by a random factor."""

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
        yield from ((f"{letter}{k + 1}", float(value)) for letter, value in numbers if abs(value) > TOLERANCE)
        cosine, sine = pose.rotation.rows[1].y, pose.rotation.rows[2].y
        if _is_dh(pose) and min(abs(cosine), abs(sine)) > TOLERANCE:
            yield from ((f"c{k + 1}", float(cosine)), (f"s{k + 1}", float(sine)))


def _is_dh(pose: Pose) -> bool:
    """Return whether a placement rotates only about x and translates only along x and along the new z."""
    x = pose.rotation.rows[0]
    if abs(x.x - 1.0) > TOLERANCE:
        return False
    local = pose.rotation.T @ pose.translation
    return abs(local.y) < TOLERANCE


def _dh(pose: Pose) -> tuple[float, float]:
    return float(pose.translation.x), float((pose.rotation.T @ pose.translation).z)


def _expressions(lengths: Names) -> Names:
    """Return the candidate expressions: lengths, products, sums of two products (if few) and of three squares."""
    if not lengths:
        return {}
    products = {
        f"{x}²" if x == y else f"{x} {y}": lengths[x] * lengths[y] for x, y in combinations_with_replacement(lengths, 2)
    }
    expressions = dict(lengths) | products
    if len(products) <= MAX_PRODUCTS:
        for (x, first), (y, second) in combinations(products.items(), 2):
            expressions[f"({x} + {y})"] = first + second
            expressions[f"({x} - {y})"] = first - second
    squares = {x: values * values for x, values in lengths.items()}
    for triple in combinations(squares, 3):
        expressions[f"({' + '.join(f'{x}²' for x in triple)})"] = np.sum([squares[x] for x in triple], axis=0)
    return expressions


def _name(values: np.ndarray, candidates: Names) -> str:
    """Return a signed coefficient as text: an integer, an expression, or the number itself."""
    if abs(values[0] - round(values[0])) < TOLERANCE and np.ptp(values) < TOLERANCE:
        return f"{round(values[0])}"
    if len(values) == 3:
        for text, of_text in candidates.items():
            for factor, prefix in ((1.0, ""), (2.0, "2 "), (0.5, "½ ")):
                for sign in (1.0, -1.0):
                    if np.allclose(values, sign * factor * of_text, rtol=TOLERANCE, atol=0.0):
                        return ("-" if sign < 0 else "") + prefix + text
    return f"{values[0]:.6g}"


def _sum(lead: str, terms: dict[str, list[str]]) -> list[str]:
    """Return the terms of a sum, the leading parameter first; parameters with equal coefficients share a bracket."""
    ordered = sorted(terms.items(), key=lambda item: (lead not in item[1], item[0] not in ("1", "-1")))
    terms_text = []
    for coefficient, names in ordered:
        names = sorted(names, key=lambda name: name != lead)
        if coefficient in ("1", "-1"):
            parts = [("- " if coefficient == "-1" else "+ ") + name for name in names]
        else:
            sign, size = ("- ", coefficient[1:]) if coefficient.startswith("-") else ("+ ", coefficient)
            bracket = f"({' + '.join(names)})" if len(names) > 1 else names[0]
            parts = [f"{sign}{size} {bracket}"]
        terms_text += parts
    terms_text[0] = terms_text[0].removeprefix("+ ")
    return terms_text


def _wrapped(head: str, parts: list[str]) -> str:
    lines, line = [], head
    for part in parts:
        if len(line) + len(part) > LINE_WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * len(head)
        line += part + " "
    return "\n".join([*lines, line.rstrip()])
