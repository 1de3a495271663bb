"""Errors of the functions of a robot, relative to the magnitude of the terms that a result is a sum of.

joint forces        Σ |Y π|, the share of every parameter without its sign, and the rounding of the reference, Pinocchio
inertia matrix      √(Mᵢᵢ Mⱼⱼ)
energies            the same with speeds, and weights times heights
forward dynamics    residual in the joint forces, the only measure that works for masses over 12 decades. Samples whose
                    inertia matrix is singular to rounding in the format of the computation are skipped
derivatives         `derivative_terms`, compared with 80-bit numbers: Pinocchio computes derivatives in the axes of the
                    world, where a robot far from the origin loses digits
forward derivatives residual of M ∂a/∂q + ∂τ/∂q, relative to the terms of both; ∂τ/∂q is taken at the computed a, whose
                    own error is M⁻¹ times a rounding of the forces
"""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell_lab.references.derivative_terms import derivative_terms
from appell_lab.references.long_tree import LongTree
from appell_lab.references.peer_tree import PeerTree


class Measure:
    """The functions of a robot and the reference implementations they are compared with."""

    def __init__(self, dyn: Dynamics, peer: PeerTree, bound: bool):
        self.dyn, self.peer, self.bound = dyn, peer, bound
        self.long = LongTree(peer.links, peer.model.gravity.linear, peer.robot)

    def error(self, function: str, q, v, a) -> float:
        """Return the largest error of a function over the batch."""
        exact = [x.astype(float) for x in (q, v, a)]
        states = list(zip(*exact, strict=True))
        if function in ("matrix", "energy"):
            return getattr(self, f"_{function}")(q, v, states)
        if function == "derivatives":
            return self._derivatives(q, v, a, states)
        theirs = np.array([self.peer.inverse_dynamics(*state) for state in states])
        if function == "inverse":
            terms = np.max([self.peer.rounding_terms(*state) for state in states], axis=0)  # per row, over all samples
            return largest(self._called(self.dyn.inverse_dynamics, q, v, a)[0] - theirs, terms)
        tau = theirs.astype(q.dtype)
        if function == "forward":
            ours = self._called(self.dyn.forward_dynamics, q, v, tau)[0].astype(float)
            rows = zip(*exact[:2], tau.astype(float), ours, strict=True)
            return max((_residual(self.peer, *row) for row in rows if self._solvable(row[0], q.dtype)), default=0.0)
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
        """Return the residual of M ∂a/∂τ = 1, M ∂a/∂q = -∂τ/∂q and M ∂a/∂v = -∂τ/∂v at the computed a."""
        ours = self._called(self.dyn.forward_dynamics.jacobian("q", "v", "tau"), q, v, tau)
        a, worst = self.long.forward_dynamics(q, v, tau), 0.0
        *by_state, M = self.long.inverse_derivatives(q, v, a)
        for k, (x, y, z) in enumerate(zip(*(x.astype(float) for x in (q, v, a)), strict=True)):
            if not self._solvable(x, q.dtype):
                continue
            size = np.sqrt(np.diag(M[k]))
            units = derivative_terms(self.peer, x, y, self._with_uncertainty(ours[2][k], x, y, z))
            for J, forces, unit in zip(ours, by_state, units, strict=False):
                worst = max(worst, largest(M[k] @ J[k] + forces[k], size[:, None] * (size @ np.abs(J[k])) + unit))
            scaled, inverse = M[k] / np.outer(size, size), ours[2][k] * np.outer(size, size)
            terms = (np.abs(scaled) @ np.abs(inverse)).max()  # of all columns: the inverse and its errors are symmetric
            worst = max(worst, largest(scaled @ inverse - np.eye(len(size)), terms))
        return worst

    def _solvable(self, q, kind: np.dtype) -> bool:
        """Return whether the inertia matrix, with rows scaled to unit diagonal, is regular in this format."""
        M = self.peer.mass_matrix(q)
        size = np.sqrt(np.diag(M))
        return bool(np.linalg.cond(M / np.outer(size, size)) * np.finfo(kind).eps < 1.0)

    def _with_uncertainty(self, inverse, q, v, a) -> np.ndarray:
        """Return |a| plus its uncertainty from rounding of the forces, in units of the rounding."""
        return np.abs(a) + np.abs(inverse).astype(float) @ _force_terms(self.peer, q, v, a)

    def _called(self, function: Function, *arguments: np.ndarray) -> list[np.ndarray]:
        """Return the results of a batch; single samples and bound calls must give the same bits."""
        batch = function(*arguments)
        results = [np.asarray(x) for x in (batch if isinstance(batch, tuple) else (batch,))]
        bound = function.bind(arguments[0].dtype) if self.bound else None
        for k in range(len(arguments[0])):
            sample = function(*(x[k] for x in arguments))
            ways = [("called with one sample", sample if isinstance(sample, tuple) else (sample,))]
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
    """Return the error of the joint forces relative to the differentiated Gibbs function, at the first sample."""
    gradient = dyn.gibbs_function.jacobian("a").tape
    ours = dyn.inverse_dynamics(q[0], v[0], a[0])
    terms = np.array([peer.torque_terms(*state) for state in zip(q, v, a, strict=True)]).max(axis=0)
    return largest(ours - evaluate(gradient, q[0], v[0], a[0])[0].ravel(), terms)


def largest(error: np.ndarray, size) -> float:
    """Return the largest ratio of error to size; an error where the size is zero counts as infinite."""
    size = np.broadcast_to(size, np.shape(error))
    with np.errstate(all="ignore"):
        ratio = np.where(error == 0.0, 0.0, np.abs(error) / size)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max(initial=0.0))


def _force_terms(peer: PeerTree, q, v, a) -> np.ndarray:
    """Return the magnitude of the terms of the forces of an acceleration, including the share of every joint."""
    size = np.sqrt(np.diag(peer.mass_matrix(q)))
    return np.maximum(peer.rounding_terms(q, v, a), size * (size @ np.abs(a)))


def _residual(peer: PeerTree, q, v, tau, a) -> float:
    """Return the residual of an acceleration in the equations of motion with these forces."""
    return largest(peer.inverse_dynamics(q, v, a) - tau, _force_terms(peer, q, v, a))
