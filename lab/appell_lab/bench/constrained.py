"""Robots with loops: forward dynamics in batches, against a Python loop over Pinocchio's `constraintDynamics`.

appell is measured in two ways: from independent velocities to their rates, and, like Pinocchio, from all velocities of
the tree, which keep the loops closed, to all accelerations. Forces act along all velocities in both. Pinocchio solves
once with μ = 1e-12, the smallest number of iterations that agrees to twelve digits.
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

AGREEMENT = 1e-9  # relative to the largest acceleration
COMPARED_SAMPLES = 64


class ConstraintPeer:
    """`constraintDynamics` with all its arguments except the state."""

    def __init__(self, robot: LoopRobot):
        pin = pinocchio()
        self.model, self.data, self.contacts = robot.model, robot.model.createData(), robot.contacts
        self.terms = pin.StdVec_RigidConstraintData()
        for contact in self.contacts:
            self.terms.append(contact.createData())
        self.settings = pin.ProximalSettings(1e-12, 1e-12, 1)
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.terms)
        self.function = pin.constraintDynamics

    @property
    def names(self) -> dict[str, object]:
        """Names and values for a timed statement."""
        return {
            "f": self.function,
            "model": self.model,
            "data": self.data,
            "contacts": self.contacts,
            "terms": self.terms,
            "settings": self.settings,
        }

    def acceleration(self, q, w, force) -> np.ndarray:
        """Return the accelerations of the tree (nv,) at q and w under generalised forces."""
        return self.function(self.model, self.data, q, w, force, self.contacts, self.terms, self.settings)


def measure(name: str, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure the time per sample and its ratio to that of Pinocchio; parameters as in `batch.measure`."""
    robot = LOOP_ROBOTS[name]()
    dyn, peer, rng = Dynamics(robot.system), ConstraintPeer(robot), np.random.default_rng(1)
    q = robot.configurations(rng, count)
    v, force = rng.normal(size=(count, dyn.system.nv)), rng.normal(size=(count, robot.tree.nv))
    w = dyn.tree_velocity(q, v)
    ours = dyn.constrained_acceleration
    reference = np.array(
        [
            peer.acceleration(*state)
            for state in zip(q[:COMPARED_SAMPLES], w[:COMPARED_SAMPLES], force[:COMPARED_SAMPLES], strict=True)
        ]
    )
    error = (
        np.abs(ours(q[:COMPARED_SAMPLES], w[:COMPARED_SAMPLES], force[:COMPARED_SAMPLES]) - reference).max()
        / np.abs(reference).max()
    )
    if not error <= AGREEMENT:
        raise AppellError(f"the accelerations of '{name}' differ from Pinocchio by {error:.1e}; they are not timed.")

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
    best = {key: timing.best / count for key, timing in timings.items()}
    medians = {f"{key}_median": timing.median / count for key, timing in timings.items()}

    def figure(timed: str, key: str, title: str) -> Figure:
        ratio, details = best["theirs"] / best[timed], medians | {"agreement": float(error)}
        return Figure(
            "loops", name, key, title, ratio, "x", aim("loops", name, key), best[timed], best["theirs"], details
        )

    return [
        figure("independent", "forward_dynamics", "forward dynamics with loops"),
        figure("tree", "constrained_acceleration", "the same, all accelerations of the tree"),
    ]
