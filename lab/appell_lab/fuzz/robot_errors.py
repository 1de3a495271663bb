"""How wrong the functions of a robot are, relative to the size of the terms that a result is a sum of.

joint forces      Σ |Y π|, every parameter's share without its sign, and what Pinocchio, their judge, rounds itself
inertia matrix    √(Mᵢᵢ Mⱼⱼ)
energies          the same with speeds, and weights times heights
forward dynamics  the joint forces that its answer misses; 12 decades of mass leave no other measure. Where the inertia
                  matrix is singular but for rounding in the format that is computed in, there is no answer to judge
derivatives       `derivative_terms`, against long numbers: Pinocchio has them in the axes of the world, where a robot
                  far from its origin loses digits
their forward     the forces that M ∂a/∂q + ∂τ/∂q misses, beside the terms of both; the second is taken at an answer a
                  that is itself no better than M⁻¹ times a rounding of forces
"""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell_lab.judges.derivative_terms import derivative_terms
from appell_lab.judges.long_tree import LongTree
from appell_lab.judges.peer_tree import PeerTree


class Measure:
    """The functions of a robot, and who judges them."""

    def __init__(self, dyn: Dynamics, peer: PeerTree, bound: bool):
        self.dyn, self.peer, self.bound = dyn, peer, bound
        self.long = LongTree(peer.links, peer.model.gravity.linear, peer.robot)

    def error(self, function: str, q, v, a) -> float:
        """The largest error of a function over the batch."""
        exact = [x.astype(float) for x in (q, v, a)]
        states = list(zip(*exact, strict=True))
        if function in ("matrix", "energy"):
            return getattr(self, f"_{function}")(q, v, states)
        if function == "derivatives":
            return self._derivatives(q, v, a, states)
        theirs = np.array([self.peer.inverse_dynamics(*state) for state in states])
        if function == "inverse":
            terms = np.max([self.peer.judge_terms(*state) for state in states], axis=0)  # a row's over all samples
            return largest(self._called(self.dyn.inverse_dynamics, q, v, a)[0] - theirs, terms)
        tau = theirs.astype(q.dtype)
        if function == "forward":
            found = self._called(self.dyn.forward_dynamics, q, v, tau)[0].astype(float)
            rows = zip(*exact[:2], tau.astype(float), found, strict=True)
            return max((_missed(self.peer, *row) for row in rows if self._solvable(row[0], q.dtype)), default=0.0)
        return self._forward_derivatives(q, v, tau)

    def _matrix(self, q, v, states) -> float:
        ours, theirs = self._called(self.dyn.mass_matrix, q)[0], [self.peer.mass_matrix(x) for x, _, _ in states]
        sizes = np.sqrt(np.diagonal(theirs, axis1=1, axis2=2))
        return largest(ours - np.array(theirs), sizes[:, :, None] * sizes[:, None, :])

    def _energy(self, q, v, states) -> float:
        kinetic, potential = self._called(self.dyn.energy, q, v)
        theirs = np.array([self.peer.energy(x, y) for x, y, _ in states])
        matrices = [self.peer.mass_matrix(x) for x, _, _ in states]
        sizes = [(np.abs(y) * np.sqrt(np.diag(M))).sum() ** 2 for (_, y, _), M in zip(states, matrices, strict=True)]
        heights = np.array([self.peer.potential_terms(x) for x, _, _ in states])
        return max(largest(kinetic - theirs[:, 0], np.array(sizes)), largest(potential - theirs[:, 1], heights))

    def _derivatives(self, q, v, a, states) -> float:
        ours = self._called(self.dyn.inverse_dynamics.jacobian("q", "v"), q, v, a)
        theirs = self.long.inverse_derivatives(q, v, a)[:2]
        sizes = [np.array(part) for part in zip(*(derivative_terms(self.peer, *s) for s in states), strict=True)]
        return max(largest(x - y, size) for x, y, size in zip(ours, theirs, sizes, strict=True))

    def _forward_derivatives(self, q, v, tau) -> float:
        """M ∂a/∂τ = 1, M ∂a/∂q = -∂τ/∂q and M ∂a/∂v = -∂τ/∂v, where the forces are those of the answer."""
        ours = self._called(self.dyn.forward_dynamics.jacobian("q", "v", "tau"), q, v, tau)
        a, worst = self.long.forward_dynamics(q, v, tau), 0.0
        *by_state, M = self.long.inverse_derivatives(q, v, a)
        for k, (x, y, z) in enumerate(zip(*(x.astype(float) for x in (q, v, a)), strict=True)):
            if not self._solvable(x, q.dtype):
                continue
            size = np.sqrt(np.diag(M[k]))
            units = derivative_terms(self.peer, x, y, self._doubtful(ours[2][k], x, y, z))
            for J, forces, unit in zip(ours, by_state, units, strict=False):
                worst = max(worst, largest(M[k] @ J[k] + forces[k], size[:, None] * (size @ np.abs(J[k])) + unit))
            scaled, inverse = M[k] / np.outer(size, size), ours[2][k] * np.outer(size, size)
            terms = (np.abs(scaled) @ np.abs(inverse)).max()  # of all columns: an inverse is symmetric, its errors too
            worst = max(worst, largest(scaled @ inverse - np.eye(len(size)), terms))
        return worst

    def _solvable(self, q, kind: np.dtype) -> bool:
        """Whether an inertia matrix can be told from a singular one in this format, its rows scaled to one size."""
        M = self.peer.mass_matrix(q)
        size = np.sqrt(np.diag(M))
        return bool(np.linalg.cond(M / np.outer(size, size)) * np.finfo(kind).eps < 1.0)

    def _doubtful(self, inverse, q, v, a) -> np.ndarray:
        """Accelerations and all that a rounding of their forces could make of them, in units of the rounding."""
        return np.abs(a) + np.abs(inverse).astype(float) @ _force_terms(self.peer, q, v, a)

    def _called(self, function: Function, *arguments: np.ndarray) -> list[np.ndarray]:
        """The results of a batch; samples alone, and bound, must give the same bits."""
        whole = function(*arguments)
        results = [np.asarray(x) for x in (whole if isinstance(whole, tuple) else (whole,))]
        bound = function.bind(arguments[0].dtype) if self.bound else None
        for k in range(len(arguments[0])):
            alone = function(*(x[k] for x in arguments))
            ways = [("called alone", alone if isinstance(alone, tuple) else (alone,))]
            if bound is not None:
                for x, array in zip(arguments, function.inputs, strict=True):
                    getattr(bound, array.name)[...] = x[k]
                bound()
                ways.append(("bound", tuple(getattr(bound, array.name) for array in function.outputs)))
            for way, values in ways:
                if not all(np.array_equal(x[k], y, equal_nan=True) for x, y in zip(results, values, strict=True)):
                    raise AssertionError(f"{function.name} {way} differs from its batch in sample {k}")
        return results


def gibbs_error(dyn: Dynamics, peer: PeerTree, q, v, a) -> float:
    """How far joint forces are from the differentiated Gibbs function, at the first sample."""
    gradient = dyn.gibbs_function.jacobian("a").tape
    ours = dyn.inverse_dynamics(q[0], v[0], a[0])
    terms = np.array([peer.torque_terms(*state) for state in zip(q, v, a, strict=True)]).max(axis=0)
    return largest(ours - evaluate(gradient, q[0], v[0], a[0])[0].ravel(), terms)


def largest(error: np.ndarray, size) -> float:
    """The largest error over its size; what should be nothing and is not counts as infinite."""
    size = np.broadcast_to(size, np.shape(error))
    with np.errstate(all="ignore"):
        ratio = np.where(error == 0.0, 0.0, np.abs(error) / size)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max(initial=0.0))


def _force_terms(peer: PeerTree, q, v, a) -> np.ndarray:
    """What the forces of an acceleration are sums of, those of a single joint's share included."""
    size = np.sqrt(np.diag(peer.mass_matrix(q)))
    return np.maximum(peer.judge_terms(q, v, a), size * (size @ np.abs(a)))


def _missed(peer: PeerTree, q, v, tau, a) -> float:
    """How far an acceleration is from needing these forces."""
    return largest(peer.inverse_dynamics(q, v, a) - tau, _force_terms(peer, q, v, a))
