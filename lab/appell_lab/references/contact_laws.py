"""Laws of mechanics that the dynamics of a robot on contacts must satisfy, as relative errors.

    motion        M a + h - τ - Jᵀλ = 0
    rows          J a + drift + k_d J v + k_p gap = 0 of active contacts
    power         the power of the contact forces is λ·J v
    inactive      forces of inactive contacts are exactly zero
    momentum      the rate of centroidal momentum is gravity plus the wrenches of contacts with the world about the
                  centre of mass; contacts on another link of the robot add nothing

Everything except a and λ is computed by other functions of appell: frames, inverse dynamics and momentum.

    python -m appell_lab.references.contact_laws        1,000 random cases of Talos, Go2 and ANYmal, the largest errors
"""

from __future__ import annotations

import numpy as np

from appell.dynamics.contacts import ContactSet
from appell_lab.references.contact_peer import CONTACTS, ContactPeer, urdf

LAWS = {"motion": 1e-11, "rows": 1e-12, "power": 1e-12, "inactive": 0.0, "momentum": 1e-12}  # largest errors

CASES = 1000


def random_states(con: ContactSet, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Return random q, v, tau, footholds near the contact frames, active sets and gains."""
    system, n = con.dyn.system, len(con.rows)
    q = system.integrate(np.tile(system.start, (count, 1)), 0.4 * rng.normal(size=(count, system.nv)))
    v, tau = rng.normal(size=(2, count, system.nv)) * [[[0.5]], [[10.0]]]
    footholds = con.poses(q) + np.r_[0.0, 0.0, 0.0, 0.05] * rng.normal(size=(count, n, 3, 4))
    return [q, v, tau, footholds, rng.integers(0, 2, (count, n)).astype(float), rng.uniform(0.0, 30.0, (count, 2))]


def violations(con: ContactSet, q, v, tau, footholds, active, gains) -> dict[str, np.ndarray]:
    """Return the error of each law at each sample of a batch, relative to the largest term; regular sets only."""
    dyn = con.dyn
    a, force, flag = con.forward_dynamics(q, v, tau, footholds, active, gains)
    if np.any(flag != 0):
        raise ValueError(f"{np.count_nonzero(flag)} of the samples have dependent rows.")
    J, drift, gap = con.jacobian(q), con.drift(q, v), con.gap(q, footholds)
    poses, com = con.poses(q), dyn.center_of_mass(q)
    sizes = [row.size for row in con.rows]
    mask = np.repeat(active, sizes, axis=-1)
    forces, moments = force[..., :3], force[..., 3:]
    world = np.einsum("ncij,ncj->nci", footholds[..., :3], forces)
    local = [np.einsum("ncji,ncj->nci", poses[..., :3], world)]
    outer = [row.on is None for row in con.rows]
    total = world[:, outer].sum(1)
    about = np.cross(poses[..., 3] - com[:, None], world)[:, outer].sum(1)
    if moments.size:
        turned = np.einsum("ncij,ncj->nci", footholds[..., :3], moments)
        local.append(np.einsum("ncji,ncj->nci", poses[..., :3], turned))
        about = about + turned[:, outer].sum(1)
    both = np.concatenate(local, -1)
    rows = np.concatenate([both[:, k, :size] for k, size in enumerate(sizes)], -1)
    pulled = np.einsum("nij,ni->nj", J, rows)
    required = dyn.inverse_dynamics(q, v, a)
    rates = np.einsum("nij,nj->ni", J, v)
    residual = np.einsum("nij,nj->ni", J, a) + drift + gains[:, 1:] * rates + gains[:, :1] * gap
    mass = sum(body.mass for body in dyn.system.bodies.values() if body)
    rate = np.einsum("nij,nj->ni", dyn.centroidal_matrix(q), a)
    rate += np.einsum("nij,nj->ni", dyn.centroidal_matrix_rate(q, v), v)
    outside = np.concatenate([total + mass * np.array([*dyn.system.gravity]), about], -1)
    actuated = np.zeros_like(rate)
    free = tau.copy()
    if dyn.system.nq > dyn.system.nv:  # generalised forces at the floating base act on the centroidal momentum as well
        R, p = (
            dyn.pose(dyn.system.tree.links[0].name)(q)[:, :3, :3],
            dyn.pose(dyn.system.tree.links[0].name)(q)[:, :3, 3],
        )
        push = np.einsum("nij,nj->ni", R, free[:, :3])
        twist = np.einsum("nij,nj->ni", R, free[:, 3:6]) + np.cross(p - com, push)
        actuated = np.concatenate([push, twist], -1)

    def relative(error, *terms) -> np.ndarray:
        return np.abs(error).max(-1) / np.maximum(1.0, np.max([np.abs(term).max(-1) for term in terms], axis=0))

    return {
        "motion": relative(required - tau - pulled, required, tau, pulled),
        "rows": relative(mask * residual, a, drift),
        "power": relative(((pulled * v).sum(-1) - (rows * rates).sum(-1))[:, None], rows * rates),
        "inactive": np.abs(force * (active[..., None] == 0.0)).max((-1, -2)),
        "momentum": relative(rate - outside - actuated, outside, actuated),
    }


def main() -> None:
    """Print the largest errors of random cases."""
    for name, frames in CONTACTS.items():
        con = ContactPeer(urdf(name), frames).contacts
        errors = violations(con, *random_states(con, np.random.default_rng(0), CASES))
        print(name, {law: f"{error.max():.1e} (at most {LAWS[law]:g})" for law, error in errors.items()})


if __name__ == "__main__":
    main()
