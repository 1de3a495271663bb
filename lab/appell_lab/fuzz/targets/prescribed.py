"""Random constrained robots with prescribed motions, compared with Pinocchio and with differences along the motion.

The first closure follows a motion s(t); its rows are those of `ConstrainedTree`, a point along the axes of b. With ṡ
and s̈ in the prescribed rows and zero in the others, and Z a basis of the null space of K,

    K w = ṡ        K dw/dt + γ = s̈        Zᵀ(M dw/dt + h - τ) = 0        V = J w        M* = Nᵀ M N

Jacobian rates, accelerations of frames and dM*/dt are compared with central differences of the functions themselves
along q(t), v(t), s(t), extrapolated from two steps; dM*/dt - 2C must be skew-symmetric. `integrate` keeps s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.model.constraint import Prescribed as PrescribedMotion
from appell_lab.fuzz.random_closures import random_closures
from appell_lab.fuzz.random_robots import plainer_bodies, random_links
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.fuzz.targets.constraints import REDUNDANT_RATIO, SINGULAR_RATIO
from appell_lab.references import constraint_rows
from appell_lab.references.constraint_rows import Closure, ConstrainedTree, WorldFrame, WorldRows
from appell_lab.references.peer_tree import PeerTree, our_robot, pinocchio
from appell_lab.references.plain_closures import constraints, framed

BOUND = 2.0**-52 * 2.0**20  # for rows with a condition number of 1e3 and inertia matrices with 1e4
DIFFERENCE_BOUND = 1e-6  # of differences, relative to the largest term
STEPS_S = (2e-3, 2e-4, 2e-5)  # of differences: near a dead centre long ones are inaccurate, or loops do not close
MAX_RATE = 30.0  # of joints, for independent velocities of about 1
DRIVEN = ("gear", "gear", "point", "line", "plane", "distance", "knife")
FUNCTIONS = ("motion", "compiled motion", "jacobian rate", "acceleration", "coriolis", "integrate")


def _along_axes(a: WorldFrame, b: WorldFrame, closure: Closure) -> WorldRows:
    return constraint_rows._alongs(0, 1, 2)(a, b, closure)


class DrivenTree(ConstrainedTree):
    """Closures of which the first is driven: a driven point is measured along the axes of b."""

    def _rows(self, closure: Closure, q: np.ndarray) -> WorldRows:
        if closure is self.closures[0] and closure["type"] == "point":
            return _along_axes(self._frame(closure["a"]), self._frame(closure["b"]), closure)
        return super()._rows(closure, q)


class Prescribed(Target):
    """Random robots with prescribed motions."""

    name = "prescribed"
    about = "random constrained trees with prescribed motions, compared with Pinocchio and differences along the motion"
    seconds = 60.0
    megabytes = 2000

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 33])
        links = random_links(rng, 5, ordinary=True)
        while len(links) < 3:
            links = random_links(rng, 5, ordinary=True)
        gravity = rng.normal(0.0, 5.0, 3).tolist()
        robot = our_robot(links, gravity)
        q = robot.random_configuration(rng, within_limits=False)
        closures: list[Closure] = []
        peer = PeerTree(links, gravity, robot)
        while not closures:
            closures = random_closures(rng, peer, q, 1, DRIVEN)
        if rng.random() < 0.5:
            closures += random_closures(rng, peer, q, 1)
        choice = {"function": str(rng.choice(FUNCTIONS)), "states": seed}
        return {**choice, "links": links, "gravity": gravity, "q": q.tolist(), "closures": closures}

    def check(self, case: Case) -> Verdict:
        tree = framed(our_robot(case["links"], case["gravity"]), case["closures"])
        reference = DrivenTree(PeerTree(case["links"], case["gravity"], tree), case["closures"])
        first, *others = constraints(case["closures"])
        try:
            system = tree.with_loops(PrescribedMotion(first), *others, home=case["q"])
        except ModelError as error:
            return Verdict(f"rejected, although its loops close: {error}", "rejected")
        if not system.nv:
            return Verdict(counts={"no degree of freedom": 1})
        state = State(Dynamics(system), reference, np.random.default_rng([case["states"], 34]))
        if state.is_redundant:  # other rows may contradict the prescribed motion
            return Verdict(counts={"redundant rows": 1})
        if state.is_singular:
            return Verdict(counts={"near a singular configuration": 1})
        errors = state.errors(case["function"])
        counts = dict.fromkeys([case["function"], f"driven: {case['closures'][0]['type']}"], 1) | {"compared": 1}
        for name, value in errors.items():
            bound = DIFFERENCE_BOUND if "difference" in name else BOUND
            if not value <= bound:
                return Verdict(f"{name}: error {value:.3g}, bound {bound:.3g}", name, errors)
        return Verdict(figures=errors, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        if len(case["closures"]) > 1:
            yield case | {"closures": case["closures"][:1]}
        for links in plainer_bodies(case["links"]):
            yield case | {"links": links}
        if any(case["gravity"]):
            yield case | {"gravity": [0.0, 0.0, 0.0]}


class State:
    """A robot with prescribed motions at one instant, its motion nearby, and its reference."""

    def __init__(self, dyn: Dynamics, reference: DrivenTree, rng: np.random.Generator):
        self.dyn, self.reference = dyn, reference
        self.robot: Any = dyn.system
        self.rates = rng.normal(size=(len(dyn.system.prescribed), 2))  # ṡ and s̈; s is 0
        self.q = np.array(dyn.system.start)
        self.v, self.a = rng.normal(size=(2, dyn.system.nv))
        self.tau = rng.normal(size=dyn.system.tree.nv)
        self.w = np.array(self._equations().tree_velocity(self.q.tolist(), self.v.tolist()), float)
        self.M = reference.peer.mass_matrix(self.q)
        self.rows = reference.rows(self.q, self.w)
        count = len(self.rates)
        self.speed, self.acceleration = np.zeros((2, len(self.rows.K)))
        self.speed[:count], self.acceleration[:count] = self.rates.T
        _, sizes, V = np.linalg.svd(self.rows.K)
        independent = sizes > REDUNDANT_RATIO * max(sizes[0], REDUNDANT_RATIO)
        self.is_redundant = independent.sum() < len(self.rows.K)
        self.is_singular = not independent.any() or sizes[independent][-1] < SINGULAR_RATIO * sizes[0]
        self.is_singular |= bool(np.abs(self.w).max(initial=0.0) > MAX_RATE)  # near a dead centre
        self.Z = V[independent.sum() :].T
        self.frame = dyn.system.tree.links[-1].name

    def motions(self, t: float = 0.0) -> np.ndarray:
        """(s, ṡ, s̈) of every prescribed motion at time t, in turn."""
        rate, acceleration = self.rates.T
        return np.stack([t * rate + t * t / 2 * acceleration, rate + t * acceleration, acceleration], 1).ravel()

    def _equations(self, t: float = 0.0):
        return self.dyn.equations_with((), self.motions(t).tolist())

    def errors(self, function: str) -> dict[str, float]:
        """Return the largest errors by name."""
        size = self._size(self.w, self.speed)
        residual = self.rows.K @ self.w + self.rows.offset - self.speed
        return {"velocities": _relative(residual, size)} | getattr(self, f"_{function.replace(' ', '_')}")()

    def _size(self, *terms: np.ndarray) -> float:
        return max(np.abs(self.rows.K).max(), 1.0) * (1.0 + sum(np.abs(x).max(initial=0.0) for x in terms))

    def _motion(self) -> dict[str, float]:
        return self._residuals(self._tape(self.dyn.forward_dynamics, self.q, self.v, tau=self.tau))

    def _compiled_motion(self) -> dict[str, float]:
        return self._residuals(self.dyn.forward_dynamics(self.q, self.v, self.tau, self.motions()))

    def _residuals(self, a: np.ndarray) -> dict[str, float]:
        dw = np.array(self._equations().tree_acceleration(self.q.tolist(), self.v.tolist(), a.tolist()), float)
        of_rows = self.rows.K @ dw + self.rows.drift - self.acceleration
        residual = self.reference.peer.inverse_dynamics(self.q, self.w, dw) - self.tau
        terms = np.abs(self.M) @ np.abs(dw) + np.abs(self.tau) + np.abs(residual)
        return {
            "rows of the motion": _relative(of_rows, self._size(dw, self.w**2, self.acceleration)),
            "forces of the motion": _relative(self.Z.T @ residual, terms),
        }

    def _frame_velocity(self) -> np.ndarray:
        """Return the velocity of the frame by Pinocchio, in world axes."""
        self.reference.rows(self.q, self.w)  # updates the kinematics
        frame = self.reference._frame({"link": self.frame})
        return np.concatenate([frame.u, frame.omega])

    def _acceleration(self) -> dict[str, float]:
        axes = "LOCAL_WORLD_ALIGNED"
        ours = self._tape(self.dyn.acceleration(self.frame, reference=axes), self.q, self.v, self.a)
        velocity = self.dyn.velocity(self.frame, reference=axes)
        V, theirs = self._tape(velocity, self.q, self.v), self._frame_velocity()
        return {
            "velocity of a frame": _relative(V - theirs, self._size(self.w)),
            "acceleration, difference": self._slope_error(ours, lambda t, q, v: self._tape(velocity, q, v, t=t)),
        }

    def _jacobian_rate(self) -> dict[str, float]:
        jacobian = self.dyn.jacobian(self.frame, reference="LOCAL")
        ours = self._tape(self.dyn.jacobian_rate(self.frame, reference="LOCAL"), self.q, self.v)
        return {"jacobian rate, difference": self._slope_error(ours, lambda t, q, v: self._tape(jacobian, q, v, t=t))}

    def _coriolis(self) -> dict[str, float]:
        C = np.array(self._equations().coriolis(self.q.tolist(), self.v.tolist()), float)
        N = np.array(self._equations().basis(self.q.tolist()), float)
        M = np.array(self._equations().mass_matrix(self.q.tolist()), float)

        def inertia(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.array(self._equations(t).mass_matrix(q.tolist()), float)

        return {
            "inertia": _relative(M - N.T @ self.M @ N, M),
            "coriolis, difference": self._slope_error(C + C.T, inertia),
        }

    def _integrate(self) -> dict[str, float]:
        step = 0.05 * self.v / max(1.0, np.abs(self.w).max())
        try:
            moved = self.robot.integrate(self.q, step)
        except ModelError:  # the loops cannot be closed so far away
            return {}
        still = self.robot.integrate(self.q, 0.0 * step)
        gap = self.reference.rows(moved, self.w).gap
        return {
            "step of zero": float(np.abs(self.robot.tree.difference(self.q, still)).max(initial=0.0)),
            "gaps after a step": float(np.abs(gap[np.isfinite(gap)]).max(initial=0.0)),
        }

    def _tape(self, function: Function, *arguments: np.ndarray, t: float = 0.0, **more: np.ndarray) -> np.ndarray:
        given = dict(zip(("q", "v", "a"), arguments, strict=False)) | {"prescribed": self.motions(t)} | more
        return evaluate(function.tape, *(given[array.name] for array in function.tape.inputs))[0]

    def _slope_error(self, ours: np.ndarray, function: Callable[[float, np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Return the error of d/dt of a function of t, q and v along the motion, the smallest of several steps.

        d/dt is extrapolated from two central differences; a tenth of what they differ by is not counted.
        """

        def at(t: float) -> np.ndarray:
            q = self.robot.tree.integrate(self.q, t * self.w)
            return function(t, self.robot.assembled(q, self.motions(t).tolist()), self.v + t * self.a)

        errors = []
        for step in STEPS_S:
            try:
                wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (step, step / 2))
            except ModelError:  # the loops cannot be closed so far away
                continue
            uncertainty, slope = np.abs(wide - narrow).max(initial=0.0), (4 * narrow - wide) / 3
            error = max(np.abs(ours - slope).max(initial=0.0) - 0.1 * uncertainty, 0.0)
            errors.append(_relative(np.array(error), np.abs(slope).max(initial=1.0)))
            if errors[-1] <= DIFFERENCE_BOUND:
                break
        return min(errors)


def _relative(error: np.ndarray, terms: float | np.ndarray | Sequence[float]) -> float:
    """Return the largest error over the largest term."""
    ratio = np.abs(error).max(initial=0.0) / max(np.abs(terms).max(initial=0.0), 1e-300)
    return float(ratio) if np.isfinite(ratio) else np.inf
