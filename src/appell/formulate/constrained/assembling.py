"""Assembling: from a configuration that is nearly right to the one nearby in which all loops are closed.

Gauss and Newton's method on the gaps of all rows on positions, a step at most half a radian or half of
the robot's size. What it finds is on the branch near the start. Some closures have a second solution that is none: axes
that are to be one may come to lie against each other. Then, or where the gaps stay open, other starts about the first
are tried, farther and farther away; what stays open after that is told by the name of the loop, and by how much.

The nearest configuration where gaps vanish: Gauss and Newton's method, damped, over any coordinates.

    Δ = -Kᵀ (K Kᵀ + μ²)⁻¹ φ        q ← q ⊕ Δ                                                                    (1)
    μ² = λ σ² |φ| / |φ₀|           σ the largest singular value of K                                            (2)

over the velocities that may change, each in units of the longest step that it may take, which no step exceeds. λ grows
tenfold where (1) does not bring |φ| down, and falls again where it does. Damping that vanishes with |φ| keeps the steps
short along rows that others imply: off the manifold such a row looks independent, with a singular value as small as
|φ|, and an undamped step would run away along the very motion that the mechanism has. It also keeps the speed of
Newton's method, which doubles the digits; the last steps are undamped, without singular values below RANK σ.

Where Kᵀφ vanishes and φ does not, the gaps are as small as they can be nearby, and cannot be closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.rotation import Pose
from appell.errors import ModelError
from appell.formulate.constrained.rows import rows
from appell.formulate.kinematics import world_poses
from appell.formulate.recursion import steps
from appell.formulate.tree import Tree
from appell.model.constraint import COAXIAL, TURN, Closure, Constraint, Prescribed, find_frame
from appell.model.robot import Robot

STEPS = 300
GAIN = 1e-3  # λ at the start, and at least
STUCK = 1e8  # λ beyond which no step helps
FLAT = 1e-11  # of |φ|: a gradient that promises less than this is none
RANK = 1e-7  # of the largest singular value: rows that are implied by others are below this near the manifold
LAST = 4  # undamped steps at most, at the end

Gaps = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # q -> φ and K, with dφ/dt = K v
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (q, Δ) -> q ⊕ Δ


@dataclass(frozen=True)
class Root:
    """Where the method ended, and what is left of the gaps there."""

    q: np.ndarray
    gaps: np.ndarray

    @property
    def size(self) -> float:
        return largest(self.gaps)


def largest(gaps: np.ndarray) -> float:
    """The largest gap; infinite if one is no number."""
    size = float(np.abs(gaps).max(initial=0.0))
    return size if np.isfinite(size) else np.inf


def nearest_root(gaps: Gaps, move: Move, q: np.ndarray, longest: np.ndarray, exact: float) -> Root:
    """A root near q by steps (1) within `longest`, or the least gaps nearby; velocities with no step are held."""
    phi, K = gaps(q)
    if not len(phi) or not np.isfinite(phi).all():
        return Root(q, phi)
    size = start = max(float(np.linalg.norm(phi)), exact)
    gain = GAIN
    for _ in range(STEPS):
        if largest(phi) <= exact or gain > STUCK or not np.isfinite(K).all():
            break
        U, s, Vt = np.linalg.svd(K * longest, full_matrices=False)
        along = U.T @ phi
        if not len(s) or np.linalg.norm(s * along) <= FLAT * s[0] * size:
            break
        damping = gain * s[0] ** 2 * size / start  # (2)
        step = _within(Vt.T @ (-s / (s * s + damping) * along)) * longest  # (1)
        candidate = move(q, step)
        found = gaps(candidate)
        smaller = float(np.linalg.norm(found[0]))
        if smaller < size * (1.0 - FLAT):
            q, (phi, K), size = candidate, found, smaller
            gain = max(0.1 * gain, GAIN)
        else:
            gain *= 10.0
    return _polished(gaps, move, Root(q, phi), K, longest) if largest(phi) <= exact else Root(q, phi)


def _within(step: np.ndarray) -> np.ndarray:
    """A step, shortened to one unit in its largest entry."""
    return step / max(1.0, float(np.abs(step).max(initial=0.0)))


def _polished(gaps: Gaps, move: Move, root: Root, K: np.ndarray, longest: np.ndarray) -> Root:
    """Undamped steps as long as they help: down to rounding."""
    for _ in range(LAST):
        step = longest * (np.linalg.pinv(K * longest, rcond=RANK) @ -root.gaps)
        q = move(root.q, step)
        phi, K = gaps(q)
        if not largest(phi) < root.size:
            break
        root = Root(q, phi)
    return root


EXACT = 1e-13  # of the robot's size, at least of 1 m: gaps smaller than this are closed
TURN_STEP = 0.5  # rad: the longest step of an angle
STARTS = 12  # beside the one that was given
NEARBY = 0.2  # rad or robot's sizes: how far the first of them is away, the others farther
MOST = 3.0  # the farthest


@dataclass(frozen=True)
class OpenLoops:
    """The rows on positions of a tree, as functions of numbers; `gaps` may be compiled, or the formulas themselves."""

    robot: Robot
    constraints: tuple[Constraint, ...]
    gaps: Gaps
    rows: tuple[tuple[str, str], ...]  # constraint and label of every gap

    @staticmethod
    def of(robot: Robot, constraints: Sequence[Constraint], prescribed: Sequence[float] = ()) -> OpenLoops:
        """By the formulas, on floats."""
        tree, still = Tree.of(robot), [0.0] * robot.nv

        def gaps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = [row for row in rows(tree, constraints, q.tolist(), still, prescribed) if row.gap is not None]
            phi = np.array([row.gap for row in found], float)
            return phi, np.array([row.jacobian for row in found], float).reshape(-1, robot.nv)

        known = tuple(
            (constraint.name, label)
            for constraint in constraints
            for label, tied in zip(constraint.row_labels, constraint.holonomic, strict=True)
            if tied
        )
        return OpenLoops(robot, tuple(constraints), gaps, known)

    def longest(self, hold: Iterable[str] = ()) -> np.ndarray:
        """How far each velocity may go in a step; not at all if its joint is held."""
        found = np.where(np.array(self.robot.velocity_units) == "rad", TURN_STEP, 0.5 * self.size)
        for name in (hold,) if isinstance(hold, str) else hold:
            found[self.robot.span(self.robot.joint(name))[1]] = 0.0
        return found

    @property
    def size(self) -> float:
        """Of the robot: the farthest that a joint or a frame is from the link that carries it, 1 m if none is."""
        places = [link.joint.placement for link in self.robot.links] + [frame.pose for frame in self.robot.frames]
        return max((float(np.linalg.norm([*place.translation])) for place in places), default=0.0) or 1.0

    @property
    def exact(self) -> float:
        """A gap that counts as closed."""
        return EXACT * max(1.0, self.size)

    def root(self, q: np.ndarray, hold: Iterable[str] = ()) -> Root:
        """Where Gauss and Newton's method leads from q."""
        return nearest_root(self.gaps, self.robot.integrate, q, self.longest(hold), self.exact)

    def against(self, q: np.ndarray) -> str | None:
        """The constraint, if there is one, of which axes lie against each other that are to be one."""
        known = [c.constraint if isinstance(c, Prescribed) else c for c in self.constraints]
        tied = [c for c in known if isinstance(c, Closure) and shared_axes(c)]
        if not tied:
            return None
        tree = Tree.of(self.robot)
        poses = world_poses(tree, steps(tree, q.tolist()))

        def axes(place) -> np.ndarray:
            frame = find_frame(self.robot, place)
            turned = (poses[frame.body] @ Pose(frame.pose.rotation)).rotation
            return np.array([[*row] for row in turned.rows], float).T

        for constraint in tied:
            a, b = axes(constraint.a), axes(constraint.b)
            if any(a[k] @ b[k] < 0.0 for k in shared_axes(constraint)):
                return constraint.name
        return None

    def good(self, root: Root) -> bool:
        """Whether all loops are closed, the right way round."""
        return root.size <= self.exact and self.against(root.q) is None

    def starts(self, q: np.ndarray, hold: Iterable[str], count: int, most: float = MOST) -> Iterator[np.ndarray]:
        """Configurations about q, farther and farther away, the same every time."""
        rng, free = np.random.default_rng(0), self.longest(hold)
        unit = np.where(free > 0.0, np.where(np.array(self.robot.velocity_units) == "rad", 1.0, self.size), 0.0)
        for k in range(count):
            spread = NEARBY * (most / NEARBY) ** (k / max(count - 1, 1))
            yield self.robot.integrate(q, spread * unit * rng.uniform(-1.0, 1.0, len(unit)))

    def remaining(self, gaps: np.ndarray) -> tuple[str, float, str]:
        """The constraint that is open widest, by how much, and in which unit."""
        units = {
            (c.name, label): unit
            for c in self.constraints
            for label, unit in zip(c.row_labels, c.row_units, strict=True)
        }
        sizes: dict[tuple[str, str], float] = {}
        for row, gap in zip(self.rows, gaps, strict=True):
            key = row[0], units[row]
            sizes[key] = float(np.hypot(sizes.get(key, 0.0), gap))
        (name, unit), size = max(sizes.items(), key=lambda item: item[1])
        return name, size, unit


def shared_axes(constraint: Closure) -> tuple[int, ...]:
    """The axes that both frames of a closure have in common, one direction each."""
    labels = constraint.row_labels
    if set(TURN) <= set(labels):
        return (0, 2)
    return ((0,) if "square 12" in labels else ()) + ((2,) if set(COAXIAL) <= set(labels) else ())


def assembled(
    robot: Robot,
    constraints: Sequence[Constraint],
    q0: Sequence[float] | np.ndarray,
    hold: Iterable[str] = (),
    prescribed: Sequence[float] = (),
) -> np.ndarray:
    """The configuration near q0 in which all loops are closed, with some joints held; or a ModelError."""
    return assemble_loops(OpenLoops.of(robot, constraints, prescribed), np.array(q0, float), hold)


def assemble_loops(loops: OpenLoops, q0: np.ndarray, hold: Iterable[str] = ()) -> np.ndarray:
    """The same, of loops whose functions are known."""
    held = (hold,) if isinstance(hold, str) else tuple(hold)
    best = loops.root(q0, held)
    if loops.good(best):
        return best.q
    for start in loops.starts(q0, held, STARTS):
        found = loops.root(start, held)
        if loops.good(found):
            return found.q
        if found.size < best.size:
            best = found
    raise _open(loops, best, held)


def _open(loops: OpenLoops, root: Root, held: Sequence[str]) -> ModelError:
    while_held = f" while {', '.join(repr(name) for name in held)} is held" if held else ""
    if root.size <= loops.exact:
        return ModelError(
            f"loop '{loops.against(root.q)}' of {loops.robot.owner} closes the wrong way round only{while_held}: "
            "axes that are to be one point against each other.",
            hint="a start in which they nearly agree, or turn one of its frames by half a turn",
        )
    name, size, unit = loops.remaining(root.gaps)
    return ModelError(
        f"loop '{name}' of {loops.robot.owner} cannot be closed{while_held}: {size:.4g} {unit} remain.",
        expected="links that reach each other, and a start from which they can",
        hint="another start (home=...), or other lengths" + (", or fewer joints held" if held else ""),
    )
