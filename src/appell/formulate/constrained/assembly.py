"""Assembly of loops: from an approximate configuration to a nearby one in which all loops are closed.

The Gauss-Newton method is applied to the gaps of all rows that restrict positions, with steps of at most half a radian
or half of the robot's size. The solution is on the branch near the start. Some closures have a second, invalid
solution: axes that must coincide may point in opposite directions. In this case, or if gaps remain, restarts at
increasing distances from the first start are tried. If gaps still remain, the error names the loop and its gap.

**Damped Gauss-Newton method**, for any coordinates:

    Δ = -Kᵀ (K Kᵀ + μ²)⁻¹ φ        q ← q ⊕ Δ                                                                    (1)
    μ² = λ σ² |φ| / |φ₀|           σ² the sum of the squares of K                                               (2)

over the velocities that may change, each in units of its largest step, which no step exceeds. λ is multiplied by ten if
(1) does not reduce |φ|, and reduced again if it does. The damping vanishes with |φ|. It keeps steps short along
redundant rows: off the manifold such a row appears independent, with a singular value as small as |φ|, and an undamped
step would run away along a motion that the mechanism allows. The quadratic convergence of Newton's method is preserved;
the last steps are undamped and ignore rows that are linear combinations of others up to RANK_TOLERANCE σ.

(1) is the shortest Δ that, with some z, satisfies K Δ + μ z = -φ. Rows of such a system are eliminated one after the
other: each one, made perpendicular to those before it, adds what is missing of its right-hand side. Sums are computed
in a fixed order, so that loops close at the same configuration, to the last bit, on all machines. LAPACK and BLAS do
not ensure this.

If Kᵀφ vanishes and φ does not, the gaps have a local minimum and cannot be closed nearby.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from appell.errors import ModelError
from appell.formulate.constrained.rows import rows
from appell.formulate.flexible.kinematics import Configuration
from appell.formulate.tree import Tree
from appell.model.constraint import COAXIAL, ROTATION_LABELS, Closure, Constraint, Prescribed, find_frame
from appell.model.robot import Robot

MAX_STEPS = 300
MIN_DAMPING = 1e-3  # initial and smallest λ
MAX_DAMPING = 1e8  # λ above which the iteration stops
MIN_DECREASE = 1e-11  # relative decrease of |φ| below which the gradient counts as zero
RANK_TOLERANCE = 1e-7  # what is independent of other rows in a redundant row, relative to σ, is below this near a root
MAX_POLISH_STEPS = 4  # undamped steps at the end

Gaps = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # q -> φ and K, with dφ/dt = K v
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (q, Δ) -> q ⊕ Δ


@dataclass(frozen=True)
class Root:
    """Result of the Gauss-Newton method: the last configuration, and its gaps."""

    q: np.ndarray
    gaps: np.ndarray

    @property
    def size(self) -> float:
        """Largest gap."""
        return largest(self.gaps)


def largest(gaps: np.ndarray) -> float:
    """Largest absolute gap; infinite if a gap is not finite."""
    size = float(np.abs(gaps).max(initial=0.0))
    return size if np.isfinite(size) else np.inf


def nearest_root(gaps: Gaps, move: Move, q: np.ndarray, max_step: np.ndarray, exact: float) -> Root:
    """Find a root of the gaps near q by the damped Gauss-Newton method (1).

    Parameters
    ----------
    gaps : callable
        Function of q that returns the gaps φ and their Jacobian K with respect to velocities.
    move : callable
        Function of q and a step along the velocities that returns the new configuration.
    q : ndarray
        Start configuration.
    max_step : ndarray
        Largest step along each velocity; velocities with 0 are held.
    exact : float
        Largest gap of a root.

    Returns
    -------
    Root
        A root, or a local minimum of the gaps.
    """
    phi, K = gaps(q)
    if not len(phi) or not np.isfinite(phi).all():
        return Root(q, phi)
    size = start = max(_length(phi), exact)
    damping_factor = MIN_DAMPING
    for _ in range(MAX_STEPS):
        if largest(phi) <= exact or damping_factor > MAX_DAMPING or not np.isfinite(K).all():
            break
        A = K * max_step
        sigma = _length(A)
        if _length((A * phi[:, None]).sum(axis=0)) <= MIN_DECREASE * sigma * size:
            break
        damping = sigma * math.sqrt(damping_factor * size / start)  # (2)
        damped = shortest_solution(np.hstack([A, damping * np.eye(len(A))]), -phi)  # (1)
        step = _within(damped[: len(max_step)]) * max_step
        candidate = move(q, step)
        candidate_gaps = gaps(candidate)
        candidate_size = _length(candidate_gaps[0])
        if candidate_size < size * (1.0 - MIN_DECREASE):
            q, (phi, K), size = candidate, candidate_gaps, candidate_size
            damping_factor = max(0.1 * damping_factor, MIN_DAMPING)
        else:
            damping_factor *= 10.0
    return _polished(gaps, move, Root(q, phi), K, max_step) if largest(phi) <= exact else Root(q, phi)


def _length(x: np.ndarray) -> float:
    """Euclidean norm of all entries; without BLAS, which has another order of summation on every processor."""
    return math.sqrt((x * x).sum())


def shortest_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Shortest x with A x = b for the rows of A that are independent up to RANK_TOLERANCE."""
    rest, x = A, np.zeros(A.shape[1])
    negligible = RANK_TOLERANCE * _length(A)
    for _ in range(min(A.shape)):
        k = int((rest * rest).sum(axis=1).argmax())
        if not (length := _length(rest[k])) > negligible:
            break
        direction = rest[k] / length
        x = x + (b[k] - (A[k] * x).sum()) / (A[k] * direction).sum() * direction
        for _ in range(2):  # the second time removes rounding errors of cancelled parts
            rest = rest - (rest * direction).sum(axis=1)[:, None] * direction
    return x


def _within(step: np.ndarray) -> np.ndarray:
    """Scale a step so that its largest entry is at most 1."""
    return step / max(1.0, float(np.abs(step).max(initial=0.0)))


def _polished(gaps: Gaps, move: Move, root: Root, K: np.ndarray, max_step: np.ndarray) -> Root:
    """Refine a root by undamped steps while they reduce the gaps, down to rounding errors."""
    for _ in range(MAX_POLISH_STEPS):
        step = max_step * shortest_solution(K * max_step, -root.gaps)
        q = move(root.q, step)
        phi, K = gaps(q)
        if not largest(phi) < root.size:
            break
        root = Root(q, phi)
    return root


GAP_TOLERANCE = 1e-13  # largest gap of a closed loop, relative to the robot's size or 1 m, whichever is larger
MAX_ANGLE_STEP_RAD = 0.5
RESTARTS = 12  # number of starts tried after the given one
FIRST_RESTART_DISTANCE = 0.2  # of the first restart from the start, in rad or robot sizes
LAST_RESTART_DISTANCE = 3.0  # of the last restart


@dataclass(frozen=True)
class OpenLoops:
    """Rows of a tree that restrict positions, as a numeric function; `gaps` is compiled or evaluates the formulas."""

    robot: Robot
    constraints: tuple[Constraint, ...]
    gaps: Gaps
    rows: tuple[tuple[str, str], ...]  # constraint and label of each gap

    @staticmethod
    def of(robot: Robot, constraints: Sequence[Constraint], prescribed: Sequence[float] = ()) -> OpenLoops:
        """Evaluate the formulas on floats."""
        tree, rest = Tree.of(robot), [0.0] * robot.nv

        def gaps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with_gap = [row for row in rows(tree, constraints, q.tolist(), rest, prescribed) if row.gap is not None]
            phi = np.array([row.gap for row in with_gap], float)
            return phi, np.array([row.jacobian for row in with_gap], float).reshape(-1, robot.nv)

        names = tuple(
            (constraint.name, label)
            for constraint in constraints
            for label, holonomic in zip(constraint.row_labels, constraint.holonomic, strict=True)
            if holonomic
        )
        return OpenLoops(robot, tuple(constraints), gaps, names)

    def max_step(self, hold: Iterable[str] = ()) -> np.ndarray:
        """Largest step along each velocity, 0 for joints that are held."""
        steps = np.where(np.array(self.robot.velocity_units) == "rad", MAX_ANGLE_STEP_RAD, 0.5 * self.size)
        steps *= self.robot.step_scales
        for name in (hold,) if isinstance(hold, str) else hold:
            steps[self.robot.span(self.robot.joint(name))[1]] = 0.0
        return steps

    @property
    def size(self) -> float:
        """Largest distance of a joint, frame or node from the origin of its link; 1 m if all are zero."""
        poses = [link.joint.placement for link in self.robot.links] + [frame.pose for frame in self.robot.frames]
        distances = [float(np.linalg.norm([*pose.translation])) for pose in poses]
        return max([*distances, *(link.body.size for link in self.robot.flexible)], default=0.0) or 1.0

    @property
    def exact(self) -> float:
        """Largest gap of a closed loop."""
        return GAP_TOLERANCE * max(1.0, self.size)

    def root(self, q: np.ndarray, hold: Iterable[str] = ()) -> Root:
        """Result of the Gauss-Newton method from q: flexible links bend only if the joints cannot close the loops."""
        max_step = self.max_step(hold)
        if modes := self.robot.modal_velocities:
            joints = max_step.copy()
            joints[modes] = 0.0
            root = nearest_root(self.gaps, self.robot.integrate, q, joints, self.exact)
            if self.is_closed(root):
                return root
        return nearest_root(self.gaps, self.robot.integrate, q, max_step, self.exact)

    def reversed_constraint(self, q: np.ndarray) -> str | None:
        """Name of a constraint whose common axes point in opposite directions at q; None if there is none."""
        inner = [c.constraint if isinstance(c, Prescribed) else c for c in self.constraints]
        coaxial = [c for c in inner if isinstance(c, Closure) and shared_axes(c)]
        if not coaxial:
            return None
        configuration = Configuration(Tree.of(self.robot), q.tolist())

        def axes(name) -> np.ndarray:
            rotation = configuration.frame_pose(find_frame(self.robot, name)).rotation
            return np.array([[*row] for row in rotation.rows], float).T

        for constraint in coaxial:
            a, b = axes(constraint.a), axes(constraint.b)
            if any(a[k] @ b[k] < 0.0 for k in shared_axes(constraint)):
                return constraint.name
        return None

    def is_closed(self, root: Root) -> bool:
        """Whether all loops are closed, with common axes in the same direction."""
        return root.size <= self.exact and self.reversed_constraint(root.q) is None

    def starts(
        self, q: np.ndarray, hold: Iterable[str], count: int, farthest: float = LAST_RESTART_DISTANCE
    ) -> Iterator[np.ndarray]:
        """Yield reproducible random configurations at increasing distances from q."""
        rng, free = np.random.default_rng(0), self.max_step(hold)
        unit = np.where(free > 0.0, np.where(np.array(self.robot.velocity_units) == "rad", 1.0, self.size), 0.0)
        for k in range(count):
            distance = FIRST_RESTART_DISTANCE * (farthest / FIRST_RESTART_DISTANCE) ** (k / max(count - 1, 1))
            yield self.robot.integrate(q, distance * unit * rng.uniform(-1.0, 1.0, len(unit)))

    def widest_gap(self, gaps: np.ndarray) -> tuple[str, float, str]:
        """Name of the constraint with the largest gap, the gap, and its unit."""
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
    """Indices of the axes that both frames of a closure have in common, with the same direction."""
    labels = constraint.row_labels
    if set(ROTATION_LABELS) <= set(labels):
        return (0, 2)
    return ((0,) if "square 12" in labels else ()) + ((2,) if set(COAXIAL) <= set(labels) else ())


def assembled(
    robot: Robot,
    constraints: Sequence[Constraint],
    q0: Sequence[float] | np.ndarray,
    hold: Iterable[str] = (),
    prescribed: Sequence[float] = (),
) -> np.ndarray:
    """Configuration near q0 at which all loops are closed, with some joints held.

    Raises
    ------
    ModelError
        If no such configuration is found. The error names the loop and its gap.
    """
    return assemble_loops(OpenLoops.of(robot, constraints, prescribed), np.array(q0, float), hold)


def assemble_loops(loops: OpenLoops, q0: np.ndarray, hold: Iterable[str] = ()) -> np.ndarray:
    """Configuration near q0 at which the given loops are closed, with some joints held; see `assembled`."""
    held = (hold,) if isinstance(hold, str) else tuple(hold)
    best = loops.root(q0, held)
    if loops.is_closed(best):
        return best.q
    for start in loops.starts(q0, held, RESTARTS):
        root = loops.root(start, held)
        if loops.is_closed(root):
            return root.q
        if root.size < best.size:
            best = root
    raise _open_error(loops, best, held)


def _open_error(loops: OpenLoops, root: Root, held: Sequence[str]) -> ModelError:
    names = ", ".join(repr(name) for name in held)
    while_held = f" while {names} {'is' if len(held) == 1 else 'are'} held" if held else ""
    if root.size <= loops.exact:
        name = loops.reversed_constraint(root.q)
        return ModelError(
            f"loop '{name}' of {loops.robot.owner} closes only with common axes in opposite directions{while_held}.",
            hint="Choose a start in which these axes nearly agree, or rotate one of the frames by half a turn.",
        )
    name, size, unit = loops.widest_gap(root.gaps)
    return ModelError(
        f"loop '{name}' of {loops.robot.owner} cannot be closed{while_held}: a gap of {size:.4g} {unit} remains.",
        expected="links that reach each other, and a start near a closed configuration",
        hint=f"Choose another start (home=...) or other lengths{', or hold fewer joints' if held else ''}.",
    )
