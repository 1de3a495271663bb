"""Base parameters: matter that a joint does not move relative to its parent is moved to the parent.

A point r of a link has velocity ξ (r, 1) relative to the parent, with ξ = [angular~ linear] for each partial. Matter
with pseudo-inertia D = ∫ (r, 1)(r, 1)ᵀ dm does not move with the joint where ξ D = 0, so where the columns of D lie
in the common kernel of all ξ. With P the projector on that kernel, P Σ P can be carried by the parent instead,
without any change of forces or inertia matrix:

    revolute about z    kernel (z, 1): mass, first moment along z and Σ_zz go inboard
    prismatic           kernel (x, y, z): all second moments go inboard
    spherical           kernel (1): the mass goes inboard

What reaches the world no longer matters. The links that remain are no real bodies, but seven numbers do for ten.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.algebra.matrix import Mat3, skew
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, is_number, snap
from appell.algebra.vector import Vec3
from appell.formulate.tree import Tree
from appell.model.body import Inertia
from appell.model.joints import Motion


def regroup(tree: Tree, known: Callable[[Scalar], bool] = is_number) -> Tree:
    """The tree with every link's idle matter moved inboard, as far as it is `known` before the robot moves."""
    inertias = {link.name: link.inertia for link in tree.links}
    kernels: dict[Motion, np.ndarray] = {}
    for link in reversed(tree.links):
        inboard = inertias.get(link.parent) if link.parent is not None else Inertia()
        if inboard is None or not (_is_constant(inertias[link.name], known) and _is_constant(inboard, known)):
            continue
        whole = np.array(inertias[link.name].pseudo, dtype=object)  # numbers, or symbols where a count is taken
        motion = link.joint.motion
        projector = kernels[motion] if motion in kernels else kernels.setdefault(motion, _kernel(motion))
        idle = projector @ whole @ projector
        inertias[link.name] = _inertia(whole - idle)
        if link.parent is not None:
            at_rest = motion.pose(motion.neutral)
            pose = Pose(link.placement.rotation, link.placement.translation) @ at_rest
            inertias[link.parent] = inboard + _inertia(idle).seen_from(pose)
    return tree.with_inertias(inertias)


def _kernel(motion: Motion) -> np.ndarray:
    """The projector on the common kernel of a joint's ξ, with the noise of its computation taken off."""
    stack = np.vstack(
        [
            np.hstack([np.array([list(row) for row in skew(p.angular).rows]), np.c_[list(p.linear)]])
            for p in motion.partials
        ]
    )
    projector = np.eye(4) - np.linalg.pinv(stack) @ stack
    return np.vectorize(snap)(projector, 1e-14).astype(object)


def _inertia(sigma: np.ndarray) -> Inertia:
    return Inertia(sigma[3, 3], Vec3.of(sigma[:3, 3].tolist()), Mat3.of(sigma[:3, :3].tolist()))


def _is_constant(body: Inertia, known: Callable[[Scalar], bool]) -> bool:
    return all(map(known, (body.mass, *body.first, *body.second.upper)))
