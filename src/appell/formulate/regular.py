"""Check that forward dynamics has a solution: the inertia matrix of a tree must be regular for some configuration.

A link without mass is allowed if its joint also moves links with mass: the middle link of a two-axis gimbal may be
massless. But if joints can move without moving any inertia, M(q) is singular for every q. The entries of M are analytic
in q, so its rank is the same for almost all q and lower only in special configurations (gimbal lock): one random
configuration decides. With the rows and columns of M scaled to a unit diagonal,

    D^-½ M D^-½ x = λ x,    λ ≈ 0:      x are the joints that move no inertia                                   (1)

The check is numeric. It runs only if the inertia of some link is not positive definite, and stops early if the pivots
of articulated bodies already show that M is regular.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.algebra.rotation import Twist
from appell.algebra.scalar import Scalar, Vector, is_number, sqrt
from appell.errors import Hint, ModelError
from appell.formulate.gibbs_appell.inertia import mass_matrix
from appell.formulate.newton_euler.articulated_body import JointResponse
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Wrench
from appell.formulate.recursion import composites, link_transforms
from appell.formulate.tree import Tree
from appell.model.body import Body, Inertia

SINGULAR_TOLERANCE = 1e-12  # λ of (1) below this is a rounding error
ZERO_INERTIA = 1e-28  # inertia below this fraction of the robot's is zero: a squared rounding error
REGULAR_PIVOT_RATIO = 1e-9  # smallest ratio of a joint's inertia with outboard joints free to that with them locked
MEMBER_THRESHOLD = 1e-3  # joints with smaller entries of x, relative to the largest, are not reported
# stands in for inertias that are inputs
GENERIC_INERTIA = Body(1.0, (0.1, 0.2, 0.3), (1.0, 1.1, 1.2)).about_origin  # type: ignore[arg-type]


def check_regular(tree: Tree) -> None:
    """Raise a ModelError that names the joints if forces determine the accelerations in no configuration."""
    robot = tree.robot
    if idle := idle_joints(tree):
        listed = ", ".join(f"'{name}'" for name in idle)
        kind, can = ("joint", "can move") if len(idle) == 1 else ("joints", "can move together")
        raise ModelError(
            f"{kind} {listed} of {robot.owner} {can} without moving any inertia: forward dynamics has no solution.",
            expected="links with inertia outboard of every joint",
            source=robot.source,
            hint=Hint(
                "Give the links inertia, or the actuators rotors ({rotors}); with {physical} the result is NaN.",
                rotors=True,
                physical=False,
            ),
        )


def idle_joints(tree: Tree) -> tuple[str, ...]:
    """Names of joints that can move without moving any inertia, so that M(q) is singular for every q."""
    if all(_is_positive_definite(link.inertia) for link in tree.links):
        return ()
    known = {link.name: link.inertia if _is_known(link.inertia) else GENERIC_INERTIA for link in tree.links}
    robot = tree.robot
    rng = np.random.default_rng(1)
    q = [x for link in robot.moving for x in link.joint.motion.random(rng).tolist()]
    numbers = tree.with_inertias(known)
    if _is_clearly_regular(numbers, q):
        return ()
    M = np.array(numbers.plus_rotors(mass_matrix(numbers, q)), float)
    diagonal = M.diagonal()
    smallest = ZERO_INERTIA * (np.abs(diagonal).max() + sum(abs(body.mass) for body in known.values()))
    massless = diagonal <= smallest
    if massless.any():
        idle = massless
    else:
        scale = 1.0 / np.sqrt(diagonal)
        values, vectors = np.linalg.eigh(scale[:, None] * M * scale)
        if values[0] > SINGULAR_TOLERANCE:
            return ()
        idle = np.abs(vectors[:, 0]) > MEMBER_THRESHOLD * np.abs(vectors[:, 0]).max()
    joints = (link.joint for link in robot.moving)
    return tuple(joint.name for joint in joints if idle[robot.span(joint)[1]].any())


def _is_clearly_regular(tree: Tree, q: Vector) -> bool:
    """Whether the articulated inertia along every joint is well above rounding errors, so that M is regular. O(n).

    The converse does not hold; with mimic joints the result is always False.
    """
    if any(link.joint.mimic for link in tree.links):
        return False
    transforms = link_transforms(tree, q)
    body = {link.name: ArticulatedInertia.of(link.inertia) for link in tree.links}
    composite = composites(tree, transforms)
    for link in reversed(tree.links):
        A, S = body[link.name], link.partials
        try:
            response = JointResponse.of(A, Wrench(), S, link.rotor, [0.0] * len(S))
        except ZeroDivisionError:
            return False
        for twist, inverse in zip(S, response.D.inverse_pivots, strict=True):
            locked = (ArticulatedInertia.of(composite[link.name]) @ twist).power(twist) + link.rotor
            if not 1.0 / inverse > REGULAR_PIVOT_RATIO * locked > 0.0:
                return False
        if link.parent is not None:
            rest, _ = response.passed_inward(A, Wrench(), Twist())
            body[link.parent] += rest.to_parent(transforms[link.name].R, transforms[link.name].s)
    return True


def undetermined(forces: Sequence[Scalar]) -> list[Scalar]:
    """NaN for every force: the result of forward dynamics where M is singular and `physical=False`."""
    return [float("nan") if is_number(force) else sqrt(-1.0 - force * force) for force in forces]


def _is_known(body: Inertia) -> bool:
    return all(map(is_number, (body.mass, *body.first, *body.second.upper)))


def _is_positive_definite(body: Inertia) -> bool:
    """Whether the body resists every motion; assumed for an inertia that is an input."""
    if not _is_known(body):
        return True
    sigma = np.array(body.pseudo, float)
    size = sigma.diagonal()
    if not (size > 0.0).all():
        return False
    scale = 1.0 / np.sqrt(size)
    return bool(np.linalg.eigvalsh(scale[:, None] * sigma * scale)[0] > SINGULAR_TOLERANCE)
