"""Robots with loops: forward dynamics in batches, against a Python loop over Pinocchio's `constraintDynamics`.

Ours is measured in two ways. As a system it leads from the independent velocities to their rates; along the tree it
gets and gives what Pinocchio does, all velocities, which keep the loops closed, and all accelerations. Forces act along
all velocities in both. Pinocchio solves once with μ = 1e-12, the fewest steps that agree to twelve digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell_lab.bench.aims import aim
from appell_lab.bench.clock import TimedStatement, time_in_turns
from appell_lab.bench.figure import Figure
from appell_lab.bench.loop_robots import LOOP_ROBOTS, LoopRobot
from appell_lab.bench.subject import pinocchio

AGREEMENT = 1e-9  # of the largest acceleration
JUDGED = 64


class ConstraintPeer:
    """`constraintDynamics` with all that it wants beside the state."""

    def __init__(self, held: LoopRobot):
        pin = pinocchio()
        self.model, self.data, self.contacts = held.model, held.model.createData(), held.contacts
        self.terms = pin.StdVec_RigidConstraintData()
        for contact in self.contacts:
            self.terms.append(contact.createData())
        self.settings = pin.ProximalSettings(1e-12, 1e-12, 1)
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.terms)
        self.function = pin.constraintDynamics

    @property
    def names(self) -> dict[str, object]:
        return {
            "f": self.function,
            "model": self.model,
            "data": self.data,
            "contacts": self.contacts,
            "terms": self.terms,
            "settings": self.settings,
        }

    def acceleration(self, q, w, force) -> np.ndarray:
        return self.function(self.model, self.data, q, w, force, self.contacts, self.terms, self.settings)


def measure(name: str, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Time for a sample, and its ratio to Pinocchio's."""
    held = LOOP_ROBOTS[name]()
    dyn, peer, rng = Dynamics(held.system), ConstraintPeer(held), np.random.default_rng(1)
    q = held.configurations(rng, count)
    v, force = rng.normal(size=(count, dyn.system.nv)), rng.normal(size=(count, held.tree.nv))
    w = dyn.tree_velocity(q, v)
    ours = dyn.constrained_acceleration
    judged = np.array([peer.acceleration(*state) for state in zip(q[:JUDGED], w[:JUDGED], force[:JUDGED], strict=True)])
    error = np.abs(ours(q[:JUDGED], w[:JUDGED], force[:JUDGED]) - judged).max() / np.abs(judged).max()
    if not error <= AGREEMENT:
        raise AppellError(f"accelerations of '{name}' are {error:.1e} from Pinocchio's; they are not timed.")

    states = {"q": q, "v": v, "w": w, "force": force, "N": count}
    loop = "[f(model, data, q[i], w[i], force[i], contacts, terms, settings) for i in range(N)]"
    timings = time_in_turns(
        {
            "theirs": TimedStatement(loop, peer.names | states),
            "independent": TimedStatement(
                "f(q, v, force, out=out)", states | {"f": dyn.forward_dynamics, "out": np.empty_like(v)}
            ),
            "tree": TimedStatement("f(q, w, force, out=out)", states | {"f": ours, "out": np.empty_like(w)}),
        },
        turns,
        tick,
    )
    best = {who: timing.best / count for who, timing in timings.items()}
    medians = {f"{who}_median": timing.median / count for who, timing in timings.items()}

    def figure(who: str, key: str, title: str) -> Figure:
        ratio, details = best["theirs"] / best[who], medians | {"agreement": float(error)}
        return Figure(
            "loops", name, key, title, ratio, "x", aim("loops", name, key), best[who], best["theirs"], details
        )

    return [
        figure("independent", "forward_dynamics", "forward dynamics with loops"),
        figure("tree", "constrained_acceleration", "the same, all accelerations of the tree"),
    ]
