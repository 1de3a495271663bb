"""Base parameters of a system: the minimal set β = B π with τ = Y_b β, where the columns of Y_b are independent.

For a tree, B follows from the structure, for any lengths. Where coordinates depend on each other, because of a mimic
joint or the legs of a mechanism, more parameters have equal effects; these are found from the singular values of the
regressor at random motions: Y N = 0.

**Unobservable changes of parameters, from the structure.** A body with pseudo-inertia Σ = ∫ (r, 1)(r, 1)ᵀ dm that moves
with the twist X = [ω~ u; 0 0], in its own axes, has

    2 T = tr(X Σ Xᵀ)          U̇ = -γᵀ (m u + ω × h) = -γᵀ X Σ e₄                                                (1)

with γ gravity in its axes. A change D of the Σ's affects no joint force if T and U̇ stay the same for all motions. Two
rules give such changes; both hold exactly, for any lengths:

    regrouping    inertia that joint i does not move relative to its parent can be carried by the parent: +D on the
                  link, -D transformed to the parent; D = k lᵀ + l kᵀ, k and l in the kernel of the joint's twists   (2)
    no effect     for a link whose twists are in a span V and whose γ are in Γ: every D with tr(D XᵀX') = 0 for X, X'
                  in V and γᵀX D e₄ = 0                                                                          (3)

V and Γ are computed from the world outward: those of the parent, the twists of the joint, and their images under
rotations of the joint: V is closed under X ↦ XΦ - ΦX. A third rule is for rotors:

    rotor         inertia on link i that adds only a multiple of vᵢ² to T, and to the force of gravity nothing (or a
                  constant, which is equivalent to an offset of the joint), is equivalent to a rotor of joint i      (4)

Gautier and Khalil 1990 give such rules for DH tables; these are the same rules without tables.

**Choice of the base columns.** If the columns of N span the unobservable changes of π, Y N = 0, split the columns of Y
into base columns, b, and the others, d, as many as N has columns:

    Y_d = Y_b K          K = -N_b N_d⁻¹          τ = Y_b β          β = π_b + K π_d = B π                         (5)

The choice is not unique. Here the parameters that a joint cannot distinguish from those of its parent are dropped first
(mass, first moment along the axis, one of the moments across it), so that β agrees with the regrouping formulas of
textbooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from appell.formulate.regressor import SYMBOLS, Parameter
from appell.model.body import Inertia
from appell.model.robot import Link, Robot
from appell.model.system import System

if TYPE_CHECKING:
    from appell.formulate.equations import Equations


NULL_TOLERANCE = 1e-9  # relative singular values and residuals below this count as zero


def pseudo_inertia(parameters) -> np.ndarray:
    """Pseudo-inertia Σ of ten parameters; linear."""
    return np.array(Inertia.from_parameters(list(parameters)).pseudo, float)


def parameters_of(sigma: np.ndarray) -> np.ndarray:
    """Ten parameters of a pseudo-inertia Σ; linear."""
    second = sigma[:3, :3]
    I = np.trace(second) * np.eye(3) - second
    return np.array([sigma[3, 3], *sigma[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


UNITS = np.array([pseudo_inertia(row) for row in np.eye(10)])  # Σ = Σₖ πₖ UNITS[k]


def null_space(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns x with rows @ x = 0, to TOLERANCE of the largest singular value."""
    _, s, Vt = np.linalg.svd(rows)
    return Vt[int(np.sum(s > NULL_TOLERANCE * s.max(initial=0.0))) :].T


def structural_null_space(robot: Robot, parameters: Sequence[Parameter]) -> np.ndarray:
    """Orthonormal columns that span the unobservable changes of π, by (2) to (4).

    π has ten parameters per link, followed by those of the drives.
    """
    directions: list[np.ndarray] = []
    spans = _link_spans(robot)
    start = {link.name: 10 * k for k, link in enumerate(robot.links)}
    for link in robot.links:
        first = start[link.name]
        for D in _regroupable(link):
            direction = np.zeros(len(parameters))
            direction[first : first + 10] = parameters_of(D)
            if link.parent is not None:
                T = _neutral_pose(link)
                direction[start[link.parent] : start[link.parent] + 10] = -parameters_of(T @ D @ T.T)
            directions.append(direction)
        for change in _unobservable(spans[link.name]).T:
            direction = np.zeros(len(parameters))
            direction[first : first + 10] = change
            directions.append(direction)
    directions += _rotor_changes(robot, parameters, spans, start)
    if not directions:
        return np.zeros((len(parameters), 0))
    stack = np.array(directions).T
    U, s, _ = np.linalg.svd(stack, full_matrices=False)
    return U[:, s > NULL_TOLERANCE * s[0]]


@dataclass(frozen=True)
class Span:
    """Possible motions of a link, in its axes: bases of V and Γ, of V with its own joint at rest, and γ at q = 0."""

    twists: np.ndarray
    carried: np.ndarray
    gravities: np.ndarray
    gravity: np.ndarray


def _link_spans(robot: Robot) -> dict[str, Span]:
    empty = np.zeros((0, 4, 4))
    gravity = np.array(list(robot.gravity))
    spans: dict[str | None, Span] = {None: Span(empty, empty, _closed_basis([gravity], (3,), []), gravity)}
    for link in robot.links:
        parent, joint, T = spans[link.parent], twists(link), _neutral_pose(link)
        carried = [np.linalg.inv(T) @ X @ T for X in parent.twists]
        rotated = [T[:3, :3].T @ g for g in parent.gravities]
        brackets = [lambda X, F=F: X @ F - F @ X for F in joint]
        spans[link.name] = Span(
            _closed_basis([*carried, *joint], (4, 4), brackets),
            _closed_basis(carried, (4, 4), brackets),
            _closed_basis(rotated, (3,), [lambda g, F=F: F[:3, :3] @ g for F in joint]),
            T[:3, :3].T @ parent.gravity,
        )
    return {link.name: spans[link.name] for link in robot.links}


def _closed_basis(vectors: list[np.ndarray], shape: tuple[int, ...], maps) -> np.ndarray:
    """Orthonormal basis of the smallest space that contains the vectors and is closed under the maps."""
    basis = np.zeros((0, int(np.prod(shape))))
    waiting = [x for x in vectors if np.any(x)]
    while waiting:
        x = waiting.pop(0).ravel()
        x = x / np.linalg.norm(x)
        rest = x - basis.T @ (basis @ x)
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) < NULL_TOLERANCE:
            continue
        new = rest / np.linalg.norm(rest)
        basis = np.vstack([basis, new])
        waiting += [y for y in (m(new.reshape(shape)) for m in maps) if np.linalg.norm(y) > NULL_TOLERANCE]
    return basis.reshape(-1, *shape)


def twists(link: Link) -> list[np.ndarray]:
    """Matrix X of (1) per unit of each v of the link's joint, relative to the parent."""
    matrices = []
    for partial in link.joint.motion.partials:
        x, y, z = partial.angular
        F = np.zeros((4, 4))
        F[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        F[:3, 3] = list(partial.linear)
        matrices.append(F)
    return matrices


def _neutral_pose(link: Link) -> np.ndarray:
    """Pose of the link in its parent at the neutral position of the joint."""
    pose = link.joint.placement @ link.joint.motion.pose(link.joint.motion.neutral)
    T = np.eye(4)
    T[:3, :3] = [list(row) for row in pose.rotation.rows]
    T[:3, 3] = list(pose.translation)
    return T


def _regroupable(link: Link) -> list[np.ndarray]:
    """Changes D of (2), products of vectors in the common kernel of the joint's twists."""
    kernel = null_space(np.vstack([F[:3] for F in twists(link)])).T
    return [np.outer(k, l) + np.outer(l, k) for k, l in combinations_with_replacement(kernel, 2)]


def _unobservable(span: Span) -> np.ndarray:
    """Changes of (3), as columns of ten parameters."""
    rows = [_kinetic_row(X, Y) for X, Y in combinations_with_replacement(span.twists, 2)]
    rows += [_gravity_row(g, X) for X in span.twists for g in span.gravities]
    return null_space(np.array(rows))


def _rotor_changes(
    robot: Robot, parameters: Sequence[Parameter], spans: dict[str, Span], start: dict[str, int]
) -> list[np.ndarray]:
    """Changes of (4): inertia of a link that is equivalent to a rotor, or to a rotor and an offset, at its joint."""
    index = {(parameter.owner, parameter.kind): k for k, parameter in enumerate(parameters)}
    directions = []
    for link in robot.moving:
        rotor, offset = (index.get((link.joint.name, kind)) for kind in ("rotor", "offset"))
        if rotor is None:
            continue
        span, F = spans[link.name], twists(link)[0]
        others = [(X, Y) for X, Y in combinations_with_replacement([*span.carried, F], 2) if not (X is F and Y is F)]
        steady = len(span.gravities) == 1 and offset is not None  # constant gravity: its force can be an offset
        loaded = span.carried if steady else [*span.carried, F]
        rows = [_kinetic_row(X, Y) for X, Y in others] + [_gravity_row(g, X) for X in loaded for g in span.gravities]
        rows.append(_kinetic_row(F, F) / 2)
        target = np.zeros(len(rows))
        target[-1] = 1.0
        change, *_ = np.linalg.lstsq(np.array(rows), target, rcond=NULL_TOLERANCE)
        if np.abs(np.array(rows) @ change - target).max() > NULL_TOLERANCE:
            continue
        direction = np.zeros(len(parameters))
        direction[start[link.name] : start[link.name] + 10] = change
        direction[rotor] = -1.0
        if steady:
            direction[offset] = _gravity_row(span.gravity, F) @ change
        directions.append(direction)
    return directions


def _kinetic_row(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """2 tr(X Σ Yᵀ) as a row over the ten parameters."""
    return np.array([np.sum((X.T @ Y + Y.T @ X) * unit) for unit in UNITS])


def _gravity_row(gravity: np.ndarray, X: np.ndarray) -> np.ndarray:
    """γᵀ X Σ e₄ as a row over the ten parameters."""
    return np.array([gravity @ (X @ unit)[:3, 3] for unit in UNITS])


INDEPENDENCE_TOLERANCE = 1e-5  # smallest part of a column, relative to its length, that is independent of chosen ones


def base_columns(null: np.ndarray, system: System, parameters: Sequence[Parameter]) -> list[int]:
    """Indices of the base columns: by preference, or by pivoting if that gives a wrong number of columns."""
    from scipy.linalg import qr

    preference = _preference(system, parameters)
    rows = np.eye(len(null)) - null @ null.T  # row k: column k of Y in coordinates of its row space
    rank = len(null) - null.shape[1]
    basis = np.zeros((0, len(null)))
    chosen: list[int] = []
    for k in sorted(range(len(null)), key=preference.__getitem__):
        length = np.linalg.norm(rows[k])
        if length < 1e-8:
            continue
        rest = rows[k] - basis.T @ (basis @ rows[k])
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > INDEPENDENCE_TOLERANCE * length:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            chosen.append(k)
    if len(chosen) != rank:
        chosen = qr(rows.T, mode="r", pivoting=True)[1][:rank].tolist()
    return sorted(chosen)


def _preference(system: System, parameters: Sequence[Parameter]) -> list[tuple[int, int]]:
    """Sort keys of the parameters: small for those that are preferred as base parameters."""
    order: list[tuple[int, int]] = []
    index = {name: k for k, name in enumerate(system.bodies)}
    for parameter in parameters:
        if parameter.kind in SYMBOLS:
            order.append((4 if parameter.kind == "rotor" else 0, 0))
            continue
        axis, is_prismatic = _axis(system, parameter.owner)
        along, across = "xyz"[axis], "y" if axis == 2 else "xyz"[(axis + 1) % 3]
        if _moves_all(system, parameter.owner):
            late = {}
        elif is_prismatic:
            late = {"m": 1, **{kind: 2 for kind in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}}
        else:
            late = {"m": 3, f"mc{along}": 2, f"I{across}{across}": 2}
        order.append((late.get(parameter.kind, 0), -index[parameter.owner]))
    return order


def _moves_all(system: System, body: str) -> bool:
    """Whether the joint of this body moves every point of it, like a floating joint, so that nothing is regrouped."""
    matrices = twists(system.tree.link(body)) if system.is_tree else []
    return bool(matrices) and null_space(np.vstack([X[:3] for X in matrices])).size == 0


def _axis(system: System, body: str) -> tuple[int, bool]:
    """Coordinate axis nearest to the joint axis of a body, z if it has none; and whether the joint is prismatic."""
    if not system.is_tree:
        return 2, False
    motion = system.tree.link(body).joint.motion
    axis = getattr(motion, "axis", None)
    return 2 if axis is None else int(np.argmax(np.abs(list(axis)))), motion.name == "prismatic"


def base_matrix(null: np.ndarray, columns: list[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """Base columns and the matrix B of (5), with rounding errors removed."""
    rest = [k for k in range(len(null)) if k not in set(columns)]
    K = -np.linalg.solve(null[rest].T, null[columns].T).T if rest else np.zeros((len(columns), 0))
    K[np.abs(K) < 1e-11 * max(1.0, np.abs(K).max(initial=0.0))] = 0.0
    rounded = np.round(K)
    K = np.where(np.abs(K - rounded) < 1e-11, rounded, K)
    matrix = np.zeros((len(columns), len(null)))
    matrix[np.arange(len(columns)), columns] = 1.0
    matrix[:, rest] = K
    return tuple(columns), matrix


RANK_TOLERANCE = 1e-9  # smallest relative singular value of the regressor with columns of unit length


@dataclass(frozen=True, eq=False)
class Reduction:
    """Base columns of the regressor, and B."""

    columns: tuple[int, ...]
    matrix: np.ndarray  # (base parameters, parameters)
    parameters: tuple[Parameter, ...]  # of the base columns, with the values β


def reduction(equations: Equations) -> Reduction:
    """Base parameters of a system, including those of its active drives."""
    system, parameters = equations.system, equations.parameters
    if system.is_tree and not system.flexible and not any(link.joint.mimic for link in system.tree.links):
        null = structural_null_space(system.tree, parameters)
    else:
        null = regressor_kernel(_sampled_regressor(equations))
    columns, matrix = base_matrix(null, base_columns(null, system, parameters))
    beta = matrix @ np.array([parameter.value for parameter in parameters])
    base = [replace(parameters[k], value=float(value)) for k, value in zip(columns, beta, strict=True)]
    return Reduction(columns, matrix, tuple(base))


def regressor_kernel(Y: np.ndarray) -> np.ndarray:
    """Null space of a stacked regressor with columns scaled to unit length; negligible columns count as zero."""
    norms = np.linalg.norm(Y, axis=0)
    scale = np.where(norms > RANK_TOLERANCE * norms.max(), norms, np.inf)
    R = np.linalg.qr(Y / scale, mode="r")
    _, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0]))
    null = Vt[rank:].T
    unscaled = null / np.where(np.isfinite(scale), scale, 1.0)[:, None]
    return np.linalg.qr(unscaled)[0]


def _sampled_regressor(equations: Equations) -> np.ndarray:
    """Regressors at random motions, stacked."""
    system, rng = equations.system, np.random.default_rng(0)
    rows: list = []
    for _ in range(max(40, 3 * len(equations.parameters) // system.nu)):
        q = system.random_configuration(rng, within_limits=False)
        v, a = rng.normal(size=(2, system.nv)).tolist()
        rows += equations.regressor(q.tolist(), v, a)
    return np.array(rows, float)
