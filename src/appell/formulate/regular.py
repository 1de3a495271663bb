"""Whether forward dynamics has an answer: the inertia matrix of a tree must be regular for some configuration.

A link without matter is no harm while something heavy moves with its joint: the middle of a two-axis gimbal may be
massless. But where joints can move without moving any inertia, M(q) is singular for every q. The entries of M are
analytic in q, so its rank is the same for almost all q and is lower only in special ones (a gimbal lock): one
configuration drawn at random decides. With the rows and columns of M scaled to a unit diagonal,

    D^-½ M D^-½ x = λ x,    λ ≈ 0:      x are the joints that move nothing                                      (1)

All this is numbers, taken only if some link is less than a solid body, and only if articulated bodies leave a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.algebra.scalar import Scalar, Vector, is_number, sqrt
from appell.errors import Hint, ModelError
from appell.formulate.gibbs_appell.inertia import mass_matrix
from appell.formulate.newton_euler.articulated_body import Answer
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Twist, Wrench
from appell.formulate.recursion import composites, steps
from appell.formulate.tree import Tree
from appell.model.body import Body, Inertia

SINGULAR = 1e-12  # λ of (1) that rounding alone leaves
NOTHING = 1e-28  # inertia, as a part of the robot's, that is rounding squared
FIRM = 1e-9  # of the inertia that a joint feels with all others locked: what is left with all others free
SHARE = 1e-3  # of the largest entry of x: a joint takes part
SOLID = Body(1.0, (0.1, 0.2, 0.3), (1.0, 1.1, 1.2)).about_origin  # type: ignore[arg-type]  # for what stays an input


def check_regular(tree: Tree) -> None:
    """Raise if no forces determine the accelerations in any configuration, and name the joints."""
    robot = tree.robot
    if idle := idle_joints(tree):
        listed = ", ".join(f"'{name}'" for name in idle)
        who, can = ("joint", "can move") if len(idle) == 1 else ("joints", "can move together")
        raise ModelError(
            f"{who} {listed} of {robot.owner} {can} without moving any inertia: forward dynamics has no answer.",
            expected="matter outboard of every joint that resists its motion",
            source=robot.source,
            hint=Hint(
                "give the links an inertia, or the drives rotors ({rotors}); {physical} makes it NaN",
                rotors=True,
                physical=False,
            ),
        )


def idle_joints(tree: Tree) -> tuple[str, ...]:
    """The joints along which the inertia matrix is singular for every q."""
    if all(_is_solid(link.inertia) for link in tree.links):
        return ()
    known = {link.name: link.inertia if _is_known(link.inertia) else SOLID for link in tree.links}
    robot = tree.robot
    rng = np.random.default_rng(1)
    q = [x for link in robot.moving for x in link.joint.motion.random(rng).tolist()]
    numbers = tree.with_inertias(known)
    if _is_firm(numbers, q):
        return ()
    M = np.array(numbers.plus_rotors(mass_matrix(numbers, q)), float)
    diagonal = M.diagonal()
    least = NOTHING * (np.abs(diagonal).max() + sum(abs(body.mass) for body in known.values()))
    still = diagonal <= least
    if still.any():
        moved = still
    else:
        scale = 1.0 / np.sqrt(diagonal)
        values, vectors = np.linalg.eigh(scale[:, None] * M * scale)
        if values[0] > SINGULAR:
            return ()
        moved = np.abs(vectors[:, 0]) > SHARE * np.abs(vectors[:, 0]).max()
    joints = (link.joint for link in robot.moving)
    return tuple(joint.name for joint in joints if moved[robot.span(joint)[1]].any())


def _is_firm(tree: Tree, q: Vector) -> bool:
    """Whether every joint feels articulated bodies outboard of it well above rounding: M is regular then. O(n).

    Not the other way round, nor for joints that depend on others.
    """
    if any(link.joint.mimic for link in tree.links):
        return False
    step = steps(tree, q)
    body, whole = {link.name: ArticulatedInertia.of(link.inertia) for link in tree.links}, composites(tree, step)
    for link in reversed(tree.links):
        A, S = body[link.name], [Twist.of(partial) for partial in link.partials]
        try:
            answer = Answer.of(A, Wrench(), S, link.rotor, [0.0] * len(S))
        except ZeroDivisionError:
            return False
        for twist, inverse in zip(S, answer.D.inverse_pivots, strict=True):
            felt = (ArticulatedInertia.of(whole[link.name]) @ twist).power(twist) + link.rotor
            if not 1.0 / inverse > FIRM * felt > 0.0:
                return False
        if link.parent is not None:
            rest, _ = answer.handed_on(A, Wrench(), Twist())
            body[link.parent] += rest.to_parent(step[link.name].R, step[link.name].s)
    return True


def undetermined(forces: Sequence[Scalar]) -> list[Scalar]:
    """NaN for every force: what forward dynamics answers where M is singular and that was asked for."""
    return [float("nan") if is_number(force) else sqrt(-1.0 - force * force) for force in forces]


def _is_known(body: Inertia) -> bool:
    return all(map(is_number, (body.mass, *body.first, *body.second.upper)))


def _is_solid(body: Inertia) -> bool:
    """Whether the body resists every motion; one that stays an input counts as such."""
    if not _is_known(body):
        return True
    sigma = np.array(body.pseudo, float)
    size = sigma.diagonal()
    if not (size > 0.0).all():
        return False
    scale = 1.0 / np.sqrt(size)
    return bool(np.linalg.eigvalsh(scale[:, None] * sigma * scale)[0] > SINGULAR)
