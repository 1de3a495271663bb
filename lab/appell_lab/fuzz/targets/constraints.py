"""Random trees with random loops, wheels, skates and gears, compared with Pinocchio and the Gibbs function.

The reference computes its own M, h, K and γ (`ConstrainedTree`); N is appell's, and K N = 0 shows that it is valid.
With Z a basis of the null space of K, computed by singular values, results are checked by

    K w + b = 0        K a + γ = 0        Zᵀ(M a + h - τ) = 0        M* = Nᵀ M N        ∂S*/∂a = Nᵀ(M a + h)

relative to the largest term. Cases near a singular configuration of the rows are skipped. All loops close by
construction, so a robot that is rejected is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell_lab.fuzz.random_closures import random_closures
from appell_lab.fuzz.random_robots import plainer_bodies, random_links
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.references.constraint_rows import ConstrainedTree
from appell_lab.references.peer_tree import PeerTree, our_robot, pinocchio
from appell_lab.references.plain_closures import constraints, framed

BOUND = 2.0**-52 * 2.0**20  # for rows with a condition number of 1e3 and inertia matrices with 1e4
SINGULAR_RATIO = 1e-3  # smallest singular value of the independent rows over the largest; below it, a case is skipped
REDUNDANT_RATIO = 1e-9  # singular values below this part of the largest belong to redundant rows
SAMPLES = 5
FUNCTIONS = ("motion", "motion", "independent", "inertia", "gibbs")


class Constraints(Target):
    """Random constrained robots, compared with Pinocchio."""

    name = "constraints"
    about = "random trees with loops and wheels, compared with Pinocchio's terms and the differentiated Gibbs function"
    seconds = 60.0
    megabytes = 2000

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 13])
        links = random_links(rng, 6, ordinary=True)
        while len(links) < 3:
            links = random_links(rng, 6, ordinary=True)
        gravity = rng.normal(0.0, 5.0, 3).tolist()
        robot = our_robot(links, gravity)
        q = robot.random_configuration(rng, within_limits=False)
        closures = random_closures(rng, PeerTree(links, gravity, robot), q, 2)
        choice = {"function": str(rng.choice(FUNCTIONS)), "states": seed}
        return {**choice, "links": links, "gravity": gravity, "q": q.tolist(), "closures": closures}

    def check(self, case: Case) -> Verdict:
        tree = framed(our_robot(case["links"], case["gravity"]), case["closures"])
        reference = ConstrainedTree(PeerTree(case["links"], case["gravity"], tree), case["closures"])
        if not case["closures"]:
            return Verdict(counts={"no closures": 1})
        try:
            system = tree.with_loops(*constraints(case["closures"]), home=case["q"])
        except ModelError as error:
            return Verdict(f"rejected, although its loops close: {error}", "rejected")
        if not system.nv:
            return Verdict(counts={"no degree of freedom": 1})
        rng = np.random.default_rng([case["states"], 14])
        errors = _Comparison(Dynamics(system), reference, rng).errors(case["function"])
        if errors is None:
            return Verdict(counts={"near a singular configuration": 1})
        counts = dict.fromkeys([case["function"], *(closure["type"] for closure in case["closures"])], 1)
        counts |= {"rows": len(system.row_names), "implied rows": len(system.idle_rows), "compiled and compared": 1}
        for name, value in errors.items():
            if not value <= BOUND:
                return Verdict(f"{name}: error {value:.3g}, bound {BOUND:.3g}", name, errors)
        return Verdict(figures=errors, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for k in range(len(case["closures"])):
            if len(case["closures"]) > 1:
                yield case | {"closures": case["closures"][:k] + case["closures"][k + 1 :]}
        for links in plainer_bodies(case["links"]):
            yield case | {"links": links}
        if any(case["gravity"]):
            yield case | {"gravity": [0.0, 0.0, 0.0]}


class _Comparison:
    """A constrained robot at a closed configuration, and its reference there."""

    def __init__(self, dyn: Dynamics, reference: ConstrainedTree, rng: np.random.Generator):
        self.dyn, self.reference, tree = dyn, reference, reference.peer.robot
        self.q = dyn.system.random_configuration(rng, within_limits=False) if rng.random() < 0.5 else dyn.system.start
        self.v, self.a = rng.normal(size=(2, SAMPLES, dyn.system.nv))
        self.tau = rng.normal(size=(SAMPLES, tree.nv))
        self.w = dyn.tree_velocity(self.q, self.v)
        self.M = reference.peer.mass_matrix(self.q)
        rows = reference.rows(self.q, self.w[0])
        self.K, self.gap = rows.K, rows.gap[np.isfinite(rows.gap)]

    def errors(self, function: str) -> dict[str, float] | None:
        """Return the largest errors by name; None near a singular configuration."""
        _, sizes, V = np.linalg.svd(self.K)
        independent = sizes > REDUNDANT_RATIO * max(sizes[0], REDUNDANT_RATIO)
        if independent.any() and sizes[independent][-1] < SINGULAR_RATIO * sizes[0]:
            return None
        self.Z = V[independent.sum() :].T
        if self.Z.shape[1] != self.dyn.system.nv:
            return {f"degrees of freedom, {self.dyn.system.nv} instead of {self.Z.shape[1]}": np.inf}
        errors = {"gaps": float(np.abs(self.gap).max(initial=0.0)), "velocities": self._velocities()}
        return errors | getattr(self, f"_{function}")()

    def _velocities(self) -> float:
        rows = [self.reference.rows(self.q, w) for w in self.w]
        return max(_relative(x.K @ w + x.offset, self._size(w)) for x, w in zip(rows, self.w, strict=True))

    def _size(self, *rates: np.ndarray) -> float:
        """Return the magnitude of a row: joints that a loop locks move by rounding only, while others move."""
        return max(np.abs(self.K).max(), 1.0) * (1.0 + sum(np.abs(x).max() for x in rates))

    def _motion(self) -> dict[str, float]:
        return self._residuals("motion", self.dyn.constrained_acceleration(self.q, self.w, self.tau))

    def _independent(self) -> dict[str, float]:
        a = self.dyn.forward_dynamics(self.q, self.v, self.tau)
        return self._residuals("independent motion", self.dyn.tree_acceleration(self.q, self.v, a))

    def _residuals(self, name: str, accelerations: np.ndarray) -> dict[str, float]:
        of_rows = of_forces = 0.0
        for w, tau, a in zip(self.w, self.tau, accelerations, strict=True):
            rows = self.reference.rows(self.q, w)
            of_rows = max(of_rows, _relative(rows.K @ a + rows.drift, self._size(a, w**2)))
            residual = self.reference.peer.inverse_dynamics(self.q, w, a) - tau
            terms = np.abs(self.M) @ np.abs(a) + np.abs(tau) + np.abs(residual)
            of_forces = max(of_forces, _relative(self.Z.T @ residual, terms))
        return {f"rows of the {name}": of_rows, f"forces of the {name}": of_forces}

    def _inertia(self) -> dict[str, float]:
        N = self.dyn.basis(self.q)
        expected = N.T @ self.M @ N
        return {
            "basis": _relative(self.K @ N, self._size(N)),
            "inertia": _relative(self.dyn.mass_matrix(self.q) - expected, expected),
        }

    def _gibbs(self) -> dict[str, float]:
        ours = self.dyn.generalized_forces(self.q, self.v, self.a)
        gradient, N = self.dyn.gibbs_function.jacobian("a").tape, self.dyn.basis(self.q)
        to_gradient = to_peer = 0.0
        accelerations = self.dyn.tree_acceleration(self.q, self.v, self.a)
        for v, a, w, dw, Q in zip(self.v, self.a, self.w, accelerations, ours, strict=True):
            forces = self.reference.peer.inverse_dynamics(self.q, w, dw)
            terms = np.abs(N).T @ (np.abs(forces) + np.abs(self.M) @ np.abs(dw))
            to_gradient = max(to_gradient, _relative(Q - evaluate(gradient, self.q, v, a)[0].ravel(), terms))
            to_peer = max(to_peer, _relative(Q - N.T @ forces, terms))
        return {"forces against the Gibbs gradient": to_gradient, "forces": to_peer}


def _relative(error: np.ndarray, terms) -> float:
    """Return the largest error over the largest term."""
    ratio = np.abs(error).max(initial=0.0) / np.abs(terms).max()
    return float(ratio) if np.isfinite(ratio) else np.inf
