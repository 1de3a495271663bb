"""The base parameters of a system: β = B π, with τ = Y_b β and no column of Y_b too many.

For a tree B is read off the structure, whatever the lengths are. Where coordinates are tied to each other, by a mimic
joint or the legs of a mechanism, more parameters act alike, and the singular values of the regressor at random motions
say which: Y N = 0.

Which changes of the inertial parameters no joint can feel, read off the mechanism without sampling it.

A body with pseudo-inertia Σ = ∫ (r, 1)(r, 1)ᵀ dm that moves with the twist X = [ω~ u; 0 0], in its own axes, has

    2 T = tr(X Σ Xᵀ)          U̇ = -γᵀ (m u + ω × h) = -γᵀ X Σ e₄                                                (1)

with γ gravity in its axes. A change D of the Σ's is felt by no joint if these stay as they are for all motions.
Two rules find such changes; both hold exactly, whatever the lengths are:

    idle matter   what joint i does not move relative to its parent can be carried by the parent: +D on the link,
                  the same matter moved on the parent; D = k lᵀ + l kᵀ, k and l in the kernel of the joint's twists (2)
    unfelt        a link whose twists all lie in a span V and whose γ lie in Γ: every D with tr(D XᵀX') = 0 for X, X'
                  in V and γᵀX D e₄ = 0                                                                          (3)

V and Γ grow from the world outwards: what the parent can do, what the joint adds, and what turning the joint makes
of both: V is closed under X ↦ XΦ - ΦX. A third rule is for rotors:

    rotor         matter on link i that adds to T no more than ½ vᵢ², and to the pull of gravity nothing (or a constant,
                  which the offset of the joint can be), acts as the rotor of joint i                             (4)

Gautier and Khalil 1990 give such rules for DH tables; these are the same without the tables.

Which columns of a regressor are kept, and what is added to their parameters.

If the columns of N span the changes of π that no joint feels, Y N = 0, split the columns of Y in some that are
kept, b, and the rest, d, as many as N has columns:

    Y_d = Y_b K          K = -N_b N_d⁻¹          τ = Y_b β          β = π_b + K π_d = B π                         (5)

Which columns are kept is a choice. Ours drops first what a joint cannot tell from its parent's parameters (mass,
first moment along the axis, one of the moments across it), so that β reads like the regrouping formulas of the
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


TOLERANCE = 1e-9


def pseudo_inertia(parameters) -> np.ndarray:
    """Σ of ten parameters; linear."""
    return np.array(Inertia.from_parameters(list(parameters)).pseudo, float)


def parameters_of(sigma: np.ndarray) -> np.ndarray:
    """The ten parameters of a Σ; linear."""
    second = sigma[:3, :3]
    I = np.trace(second) * np.eye(3) - second
    return np.array([sigma[3, 3], *sigma[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


UNITS = np.array([pseudo_inertia(row) for row in np.eye(10)])  # Σ = Σₖ πₖ UNITS[k]


def null_space(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns x with rows @ x = 0, to TOLERANCE of the largest singular value."""
    _, s, Vt = np.linalg.svd(rows)
    return Vt[int(np.sum(s > TOLERANCE * s.max(initial=0.0))) :].T


def structural_null_space(robot: Robot, parameters: Sequence[Parameter]) -> np.ndarray:
    """Columns: changes of π that no joint feels, by (2) to (4); ten parameters a link come first, then the drives'."""
    directions: list[np.ndarray] = []
    spans = _spans(robot)
    start = {link.name: 10 * k for k, link in enumerate(robot.links)}
    for link in robot.links:
        own = start[link.name]
        for D in _idle(link):
            direction = np.zeros(len(parameters))
            direction[own : own + 10] = parameters_of(D)
            if link.parent is not None:
                T = _rest(link)
                direction[start[link.parent] : start[link.parent] + 10] = -parameters_of(T @ D @ T.T)
            directions.append(direction)
        for change in _unfelt(spans[link.name]).T:
            direction = np.zeros(len(parameters))
            direction[own : own + 10] = change
            directions.append(direction)
    directions += _joints(robot, parameters, spans, start)
    if not directions:
        return np.zeros((len(parameters), 0))
    stack = np.array(directions).T
    U, s, _ = np.linalg.svd(stack, full_matrices=False)
    return U[:, s > TOLERANCE * s[0]]


@dataclass(frozen=True)
class Span:
    """What a link can meet, in its own axes: bases of V and Γ, of the part of V with its own joint at rest, and γ at
    q = 0."""

    twists: np.ndarray
    carried: np.ndarray
    gravities: np.ndarray
    gravity: np.ndarray


def _spans(robot: Robot) -> dict[str, Span]:
    nothing = np.zeros((0, 4, 4))
    gravity = np.array(list(robot.gravity))
    found: dict[str | None, Span] = {None: Span(nothing, nothing, _close([gravity], (3,), []), gravity)}
    for link in robot.links:
        parent, joint, T = found[link.parent], twists(link), _rest(link)
        carried = [np.linalg.inv(T) @ X @ T for X in parent.twists]
        turned = [T[:3, :3].T @ g for g in parent.gravities]
        brackets = [lambda X, F=F: X @ F - F @ X for F in joint]
        found[link.name] = Span(
            _close([*carried, *joint], (4, 4), brackets),
            _close(carried, (4, 4), brackets),
            _close(turned, (3,), [lambda g, F=F: F[:3, :3] @ g for F in joint]),
            T[:3, :3].T @ parent.gravity,
        )
    return {link.name: found[link.name] for link in robot.links}


def _close(vectors: list[np.ndarray], shape: tuple[int, ...], maps) -> np.ndarray:
    """An orthonormal basis of the smallest space that holds the vectors and what the maps make of it."""
    basis = np.zeros((0, int(np.prod(shape))))
    waiting = [x for x in vectors if np.any(x)]
    while waiting:
        x = waiting.pop(0).ravel()
        x = x / np.linalg.norm(x)
        rest = x - basis.T @ (basis @ x)
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) < TOLERANCE:
            continue
        new = rest / np.linalg.norm(rest)
        basis = np.vstack([basis, new])
        waiting += [y for y in (m(new.reshape(shape)) for m in maps) if np.linalg.norm(y) > TOLERANCE]
    return basis.reshape(-1, *shape)


def twists(link: Link) -> list[np.ndarray]:
    """X of (1) for a unit of each of the joint's v, relative to the parent."""
    found = []
    for partial in link.joint.motion.partials:
        x, y, z = partial.angular
        F = np.zeros((4, 4))
        F[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        F[:3, 3] = list(partial.linear)
        found.append(F)
    return found


def _rest(link: Link) -> np.ndarray:
    """The pose of the link in its parent with the joint at its neutral position."""
    pose = link.joint.placement @ link.joint.motion.pose(link.joint.motion.neutral)
    T = np.eye(4)
    T[:3, :3] = [list(row) for row in pose.rotation.rows]
    T[:3, 3] = list(pose.translation)
    return T


def _idle(link: Link) -> list[np.ndarray]:
    """(2): D spanned by products of the kernel of all of the joint's twists."""
    kernel = null_space(np.vstack([F[:3] for F in twists(link)])).T
    return [np.outer(k, l) + np.outer(l, k) for k, l in combinations_with_replacement(kernel, 2)]


def _unfelt(span: Span) -> np.ndarray:
    """(3), as columns of ten parameters."""
    rows = [_kinetic(X, Y) for X, Y in combinations_with_replacement(span.twists, 2)]
    rows += [_pull(g, X) for X in span.twists for g in span.gravities]
    return null_space(np.array(rows))


def _joints(
    robot: Robot, parameters: Sequence[Parameter], spans: dict[str, Span], start: dict[str, int]
) -> list[np.ndarray]:
    """(4): changes of a link's matter that feel like a rotor, or a rotor and an offset, on its own joint."""
    own = {(parameter.owner, parameter.kind): k for k, parameter in enumerate(parameters)}
    found = []
    for link in robot.moving:
        rotor, offset = (own.get((link.joint.name, kind)) for kind in ("rotor", "offset"))
        if rotor is None:
            continue
        there, F = spans[link.name], twists(link)[0]
        others = [(X, Y) for X, Y in combinations_with_replacement([*there.carried, F], 2) if not (X is F and Y is F)]
        steady = len(there.gravities) == 1 and offset is not None  # gravity never turns: its pull can be an offset
        pulled = there.carried if steady else [*there.carried, F]
        rows = [_kinetic(X, Y) for X, Y in others] + [_pull(g, X) for X in pulled for g in there.gravities]
        rows.append(_kinetic(F, F) / 2)
        wanted = np.zeros(len(rows))
        wanted[-1] = 1.0
        change, *_ = np.linalg.lstsq(np.array(rows), wanted, rcond=TOLERANCE)
        if np.abs(np.array(rows) @ change - wanted).max() > TOLERANCE:
            continue
        direction = np.zeros(len(parameters))
        direction[start[link.name] : start[link.name] + 10] = change
        direction[rotor] = -1.0
        if steady:
            direction[offset] = _pull(there.gravity, F) @ change
        found.append(direction)
    return found


def _kinetic(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """2 tr(X Σ Yᵀ) as a row over the ten parameters."""
    return np.array([np.sum((X.T @ Y + Y.T @ X) * unit) for unit in UNITS])


def _pull(gravity: np.ndarray, X: np.ndarray) -> np.ndarray:
    """γᵀ X Σ e₄ as a row over the ten parameters."""
    return np.array([gravity @ (X @ unit)[:3, 3] for unit in UNITS])


KEPT = 1e-5  # a column is kept if this much of it is no combination of those kept before


def kept_columns(null: np.ndarray, system: System, parameters: Sequence[Parameter]) -> list[int]:
    """The columns to keep: by preference, or by pivoting if preference would keep nearly dependent ones."""
    from scipy.linalg import qr

    preference = _preference(system, parameters)
    rows = np.eye(len(null)) - null @ null.T  # row k: column k of Y in coordinates of its row space
    wanted = len(null) - null.shape[1]
    basis = np.zeros((0, len(null)))
    kept: list[int] = []
    for k in sorted(range(len(null)), key=preference.__getitem__):
        length = np.linalg.norm(rows[k])
        if length < 1e-8:
            continue
        rest = rows[k] - basis.T @ (basis @ rows[k])
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > KEPT * length:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(k)
    if len(kept) != wanted:
        kept = qr(rows.T, mode="r", pivoting=True)[1][:wanted].tolist()
    return sorted(kept)


def _preference(system: System, parameters: Sequence[Parameter]) -> list[tuple[int, int]]:
    """Sorts first what is to be kept."""
    order: list[tuple[int, int]] = []
    number = {name: k for k, name in enumerate(system.bodies)}
    for parameter in parameters:
        if parameter.kind in SYMBOLS:
            order.append((4 if parameter.kind == "rotor" else 0, 0))
            continue
        axis, slides = _axis(system, parameter.owner)
        along, across = "xyz"[axis], "y" if axis == 2 else "xyz"[(axis + 1) % 3]
        if _moves_all(system, parameter.owner):
            late = {}
        elif slides:
            late = {"m": 1, **{kind: 2 for kind in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}}
        else:
            late = {"m": 3, f"mc{along}": 2, f"I{across}{across}": 2}
        order.append((late.get(parameter.kind, 0), -number[parameter.owner]))
    return order


def _moves_all(system: System, body: str) -> bool:
    """Whether the joint of this body moves every point of it, as a free flyer does: nothing is left to the parent."""
    return system.is_tree and null_space(np.vstack([X[:3] for X in twists(system.tree.link(body))])).size == 0


def _axis(system: System, body: str) -> tuple[int, bool]:
    """The coordinate axis nearest to that of the body's joint, z if it has none of its own; whether it slides there."""
    if not system.is_tree:
        return 2, False
    motion = system.tree.link(body).joint.motion
    axis = getattr(motion, "axis", None)
    return 2 if axis is None else int(np.argmax(np.abs(list(axis)))), motion.name == "prismatic"


def known_by(null: np.ndarray, kept: list[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """(5), with the noise of its computation taken off."""
    rest = [k for k in range(len(null)) if k not in set(kept)]
    K = -np.linalg.solve(null[rest].T, null[kept].T).T if rest else np.zeros((len(kept), 0))
    K[np.abs(K) < 1e-11 * max(1.0, np.abs(K).max(initial=0.0))] = 0.0
    rounded = np.round(K)
    K = np.where(np.abs(K - rounded) < 1e-11, rounded, K)
    matrix = np.zeros((len(kept), len(null)))
    matrix[np.arange(len(kept)), kept] = 1.0
    matrix[:, rest] = K
    return tuple(kept), matrix


RANK = 1e-9  # singular values of the regressor with columns of unit length, relative to the largest


@dataclass(frozen=True, eq=False)
class Reduction:
    """The columns that are kept, and B."""

    columns: tuple[int, ...]
    matrix: np.ndarray  # (kept, parameters)
    parameters: tuple[Parameter, ...]  # the kept ones; the value of each is its β


def reduction(equations: Equations) -> Reduction:
    """The base parameters of a system with the drives that count."""
    system, parameters = equations.system, equations.parameters
    if system.is_tree and not any(link.joint.mimic for link in system.tree.links):
        null = structural_null_space(system.tree, parameters)
    else:
        null = regressor_kernel(_sampled(equations))
    columns, matrix = known_by(null, kept_columns(null, system, parameters))
    beta = matrix @ np.array([parameter.value for parameter in parameters])
    kept = [replace(parameters[k], value=float(value)) for k, value in zip(columns, beta, strict=True)]
    return Reduction(columns, matrix, tuple(kept))


def regressor_kernel(Y: np.ndarray) -> np.ndarray:
    """The null space of a stacked regressor, its columns scaled to unit length; those that are noise count as zero."""
    norms = np.linalg.norm(Y, axis=0)
    scale = np.where(norms > RANK * norms.max(), norms, np.inf)
    R = np.linalg.qr(Y / scale, mode="r")
    _, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > RANK * s[0]))
    null = Vt[rank:].T
    unscaled = null / np.where(np.isfinite(scale), scale, 1.0)[:, None]
    return np.linalg.qr(unscaled)[0]


def _sampled(equations: Equations) -> np.ndarray:
    """The regressor at random motions, one under the other."""
    system, rng = equations.system, np.random.default_rng(0)
    rows: list = []
    for _ in range(max(40, 3 * len(equations.parameters) // system.nu)):
        q = system.random_configuration(rng, within_limits=False)
        v, a = rng.normal(size=(2, system.nv)).tolist()
        rows += equations.regressor(q.tolist(), v, a)
    return np.array(rows, float)
