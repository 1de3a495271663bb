"""How far to believe a description: as far as the data say that it is right.

Near the described bodies the divergence of `nearest` is ½ ‖z‖², z the change of all bodies relative to themselves, and
the data are linear in z. If the description is off by chance, each zₖ with variance 1/λ, and the noise has unit
variance, then along the singular directions of the data, of strength sₖ, what is measured is cₖ with

    cₖ ~ N(0, 1 + sₖ²/λ)          λ = argmin Σₖ  log(1 + sₖ²/λ) + cₖ² / (1 + sₖ²/λ)                               (1)

which is the likelihood of the data with all bodies averaged out (MacKay 1992). Directions that the data fix, sₖ² ≫ λ,
show how far the description is off, and are hardly pulled; directions that they do not see, sₖ² ≪ λ, say nothing and
stay with the description; those between get what they deserve. Friction and rotors are averaged out first.
"""

from __future__ import annotations

import numpy as np

from appell.identify.estimators.nearest import Description

SPREADS = (1e-3, 10.0)  # 1/√λ: a description is off by a thousandth at least, and by ten times at most
MESH = 121


def choose_pull(A: np.ndarray, b: np.ndarray, known: Description) -> float:
    """λ of (1) for data A π = b with noise of unit variance."""
    strength, measured = _directions(A, b, known)
    spreads = np.geomspace(*SPREADS, MESH)
    variance = 1.0 + np.outer(spreads**2, strength**2)
    unlikely = np.sum(np.log(variance) + measured**2 / variance, axis=1)
    return float(1.0 / spreads[int(np.argmin(unlikely))] ** 2)


def _directions(A: np.ndarray, b: np.ndarray, known: Description) -> tuple[np.ndarray, np.ndarray]:
    """sₖ and cₖ of (1)."""
    bodies = known.free[: known.inertial]
    others = len(known.spread)
    wide = np.vstack([A[:, known.inertial :], np.diag(1.0 / known.spread)])
    own = np.vstack([A[:, : known.inertial][:, bodies], np.zeros((others, bodies.sum()))])
    rest = np.concatenate([b - A @ known.centre, np.zeros(others)])
    triangle = np.asarray(np.linalg.qr(np.column_stack([wide, own, rest]), mode="r"))[others:]
    T, right = triangle[:, others:-1], triangle[:, -1]
    columns = []
    for k, root in enumerate(known.metrics()):  # dπ = root⁻ᵀ z
        columns.append(np.linalg.solve(root, T[:, 10 * k : 10 * k + 10].T).T)
    trust = known.trust[~np.asarray(known.massless, bool)]
    W = np.hstack([block / np.sqrt(share) for block, share in zip(columns, trust, strict=True)])
    U, strength, _ = np.linalg.svd(W, full_matrices=False)
    return strength, U.T @ right
