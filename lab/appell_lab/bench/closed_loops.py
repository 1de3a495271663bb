"""A parallel robot: motor torques of the Agile Wrist in closed form, against Pinocchio with loop-closure forces.

Pinocchio gets the positions, velocities and accelerations of the passive joints before timing starts; the closed form
computes them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.describe.zoo.mechanisms import agile_wrist
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell_lab.bench.aims import aim
from appell_lab.bench.clock import TimedStatement, time_in_turns
from appell_lab.bench.figure import Figure
from appell_lab.references.pinocchio_loops import LoopPeer, tree_states

AGREEMENT = 1e-9  # N m
COMPARED_SAMPLES = 64
SPREAD_RAD = 0.4  # about home, within reach of every leg


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure the time per sample and its ratio to that of Pinocchio; parameters as in `batch.measure`."""
    mechanism = agile_wrist()
    wrist, peer = Dynamics(mechanism), LoopPeer(mechanism)
    rng = np.random.default_rng(1)
    q = rng.uniform(-SPREAD_RAD, SPREAD_RAD, (count, 3))
    v, a = rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    y, rate, gain = tree_states(wrist, q, v, a)
    reference = np.array(
        [
            peer.torques(*state)
            for state in zip(y[:COMPARED_SAMPLES], rate[:COMPARED_SAMPLES], gain[:COMPARED_SAMPLES], strict=True)
        ]
    )
    error = np.abs(
        wrist.inverse_dynamics(q[:COMPARED_SAMPLES], v[:COMPARED_SAMPLES], a[:COMPARED_SAMPLES]) - reference
    ).max()
    if not error <= AGREEMENT:
        raise AppellError(
            f"the torques of the Agile Wrist differ from Pinocchio by {error:.1e} N m; they are not timed."
        )

    our_names = {"f": wrist.inverse_dynamics, "q": q, "v": v, "a": a, "out": np.empty((count, 3))}
    their_names = {"f": peer.torques, "y": y, "rate": rate, "gain": gain, "N": count}
    timings = time_in_turns(
        {
            "theirs": TimedStatement("[f(y[i], rate[i], gain[i]) for i in range(N)]", their_names),
            "ours": TimedStatement("f(q, v, a, out=out)", our_names),
        },
        turns,
        tick,
    )
    ours, theirs = timings["ours"].best / count, timings["theirs"].best / count
    details = {f"{name}_median": timing.median / count for name, timing in timings.items()} | {
        "agreement": float(error)
    }
    part, robot = "parallel", "agile-wrist"
    return [
        Figure(part, robot, "sample", "torques of the Agile Wrist, per sample", ours, "s", aim(part, robot, "sample")),
        Figure(
            part,
            robot,
            "inverse_dynamics",
            "inverse dynamics, against closed loops",
            theirs / ours,
            "x",
            aim(part, robot, "inverse_dynamics"),
            ours,
            theirs,
            details,
        ),
    ]
