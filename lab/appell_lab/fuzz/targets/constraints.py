"""Random trees with random loops, wheels, skates and gears, compiled, against Pinocchio and the Gibbs function.

The judge has M, h, K and γ of its own (`HeldTree`); N is ours, and K N = 0 shows that it may be. With Z a basis of the
velocities that K leaves free, by singular values, an answer is held to

    K w + b = 0        K a + γ = 0        Zᵀ(M a + h - τ) = 0        M* = Nᵀ M N        ∂S*/∂a = Nᵀ(M a + h)

relative to the largest of its terms. Where the rows are near a singular configuration nothing is asked. All loops close
by construction, so that a robot that is refused is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell_lab.fuzz.random_closures import random_closures
from appell_lab.fuzz.random_robots import plainer_bodies, random_links
from appell_lab.fuzz.target import Case, Hunt, Verdict
from appell_lab.judges.held_rows import HeldTree
from appell_lab.judges.peer_tree import PeerTree, our_robot, pinocchio
from appell_lab.judges.plain_closures import constraints, framed

BOUND = 2.0**-52 * 2.0**20  # rows of condition 1e3, inertia matrices of 1e4
SINGULAR = 1e-3  # smallest singular value of the independent rows over the largest
IMPLIED = 1e-9  # below this part of the largest, a row is implied by others
SAMPLES = 5
FUNCTIONS = ("motion", "motion", "independent", "inertia", "gibbs")


class Constraints(Hunt):
    """Random constrained robots against Pinocchio."""

    name = "constraints"
    about = "random trees with random loops and wheels, against Pinocchio's terms and the differentiated Gibbs function"
    seconds = 60.0
    megabytes = 2000

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 13])
        links = random_links(rng, 6, tame=True)
        while len(links) < 3:
            links = random_links(rng, 6, tame=True)
        gravity = rng.normal(0.0, 5.0, 3).tolist()
        robot = our_robot(links, gravity)
        q = robot.random_configuration(rng, within_limits=False)
        closures = random_closures(rng, PeerTree(links, gravity, robot), q, 2)
        what = {"function": str(rng.choice(FUNCTIONS)), "states": seed}
        return {**what, "links": links, "gravity": gravity, "q": q.tolist(), "closures": closures}

    def check(self, case: Case) -> Verdict:
        tree = framed(our_robot(case["links"], case["gravity"]), case["closures"])
        judge = HeldTree(PeerTree(case["links"], case["gravity"], tree), case["closures"])
        if not case["closures"]:
            return Verdict(counts={"nothing to hold": 1})
        try:
            system = tree.with_loops(*constraints(case["closures"]), home=case["q"])
        except ModelError as error:
            return Verdict(f"refused, although its loops close: {error}", "refused")
        if not system.nv:
            return Verdict(counts={"without freedom": 1})
        rng = np.random.default_rng([case["states"], 14])
        found = _Asked(Dynamics(system), judge, rng).errors(case["function"])
        if found is None:
            return Verdict(counts={"near a singular configuration": 1})
        counts = dict.fromkeys([case["function"], *(closure["type"] for closure in case["closures"])], 1)
        counts |= {"rows": len(system.row_names), "implied rows": len(system.idle_rows), "compiled and compared": 1}
        for name, missed in found.items():
            if not missed <= BOUND:
                return Verdict(f"{name}: error {missed:.3g}, bound {BOUND:.3g}", name, found)
        return Verdict(figures=found, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for k in range(len(case["closures"])):
            if len(case["closures"]) > 1:
                yield case | {"closures": case["closures"][:k] + case["closures"][k + 1 :]}
        for links in plainer_bodies(case["links"]):
            yield case | {"links": links}
        if any(case["gravity"]):
            yield case | {"gravity": [0.0, 0.0, 0.0]}


class _Asked:
    """A constrained robot where it is closed, and what the judge says there."""

    def __init__(self, dyn: Dynamics, judge: HeldTree, rng: np.random.Generator):
        self.dyn, self.judge, tree = dyn, judge, judge.peer.robot
        self.q = dyn.system.random_configuration(rng, within_limits=False) if rng.random() < 0.5 else dyn.system.start
        self.v, self.a = rng.normal(size=(2, SAMPLES, dyn.system.nv))
        self.tau = rng.normal(size=(SAMPLES, tree.nv))
        self.w = dyn.tree_velocity(self.q, self.v)
        self.M = judge.peer.mass_matrix(self.q)
        rows = judge.rows(self.q, self.w[0])
        self.K, self.gap = rows.K, rows.gap[np.isfinite(rows.gap)]

    def errors(self, function: str) -> dict[str, float] | None:
        """The largest errors by name; None near a singular configuration."""
        _, sizes, V = np.linalg.svd(self.K)
        kept = sizes > IMPLIED * max(sizes[0], IMPLIED)
        if kept.any() and sizes[kept][-1] < SINGULAR * sizes[0]:
            return None
        self.Z = V[kept.sum() :].T
        if self.Z.shape[1] != self.dyn.system.nv:
            return {f"freedoms, {self.dyn.system.nv} for {self.Z.shape[1]}": np.inf}
        held = {"gaps": float(np.abs(self.gap).max(initial=0.0)), "velocities": self._velocities()}
        return held | getattr(self, f"_{function}")()

    def _velocities(self) -> float:
        rows = [self.judge.rows(self.q, w) for w in self.w]
        return max(_part(x.K @ w + x.offset, self._size(w)) for x, w in zip(rows, self.w, strict=True))

    def _size(self, *moved: np.ndarray) -> float:
        """How large a row may be: joints that a loop locks stand still but for rounding, while others move."""
        return max(np.abs(self.K).max(), 1.0) * (1.0 + sum(np.abs(x).max() for x in moved))

    def _motion(self) -> dict[str, float]:
        return self._moved("motion", self.dyn.constrained_acceleration(self.q, self.w, self.tau))

    def _independent(self) -> dict[str, float]:
        gained = self.dyn.forward_dynamics(self.q, self.v, self.tau)
        return self._moved("independent motion", self.dyn.tree_acceleration(self.q, self.v, gained))

    def _moved(self, name: str, found: np.ndarray) -> dict[str, float]:
        kept = forced = 0.0
        for w, tau, a in zip(self.w, self.tau, found, strict=True):
            rows = self.judge.rows(self.q, w)
            kept = max(kept, _part(rows.K @ a + rows.drift, self._size(a, w**2)))
            missed = self.judge.peer.inverse_dynamics(self.q, w, a) - tau
            terms = np.abs(self.M) @ np.abs(a) + np.abs(tau) + np.abs(missed)
            forced = max(forced, _part(self.Z.T @ missed, terms))
        return {f"rows of the {name}": kept, f"forces of the {name}": forced}

    def _inertia(self) -> dict[str, float]:
        N = self.dyn.basis(self.q)
        expected = N.T @ self.M @ N
        return {
            "basis": _part(self.K @ N, self._size(N)),
            "inertia": _part(self.dyn.mass_matrix(self.q) - expected, expected),
        }

    def _gibbs(self) -> dict[str, float]:
        ours = self.dyn.generalized_forces(self.q, self.v, self.a)
        gradient, N, worst, against = self.dyn.gibbs_function.jacobian("a").tape, self.dyn.basis(self.q), 0.0, 0.0
        gained = self.dyn.tree_acceleration(self.q, self.v, self.a)
        for v, a, w, full, found in zip(self.v, self.a, self.w, gained, ours, strict=True):
            forces = self.judge.peer.inverse_dynamics(self.q, w, full)
            terms = np.abs(N).T @ (np.abs(forces) + np.abs(self.M) @ np.abs(full))
            worst = max(worst, _part(found - evaluate(gradient, self.q, v, a)[0].ravel(), terms))
            against = max(against, _part(found - N.T @ forces, terms))
        return {"forces against the Gibbs gradient": worst, "forces": against}


def _part(error: np.ndarray, terms) -> float:
    """The largest error over the largest term."""
    found = np.abs(error).max(initial=0.0) / np.abs(terms).max()
    return float(found) if np.isfinite(found) else np.inf
