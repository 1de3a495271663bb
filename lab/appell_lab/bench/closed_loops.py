"""A parallel robot: the Agile Wrist's motor torques in closed form, against Pinocchio with the loops closed by forces.

Positions, velocities and accelerations of the passive joints are given to Pinocchio before the clock starts; the closed
form computes them.
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
JUDGED = 64
SPREAD = 0.4  # rad about home, where every leg reaches


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Time for a sample, and its ratio to Pinocchio's."""
    mechanism = agile_wrist()
    wrist, peer = Dynamics(mechanism), LoopPeer(mechanism)
    rng = np.random.default_rng(1)
    q = rng.uniform(-SPREAD, SPREAD, (count, 3))
    v, a = rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    y, rate, gain = tree_states(wrist, q, v, a)
    judged = np.array([peer.torques(*state) for state in zip(y[:JUDGED], rate[:JUDGED], gain[:JUDGED], strict=True)])
    error = np.abs(wrist.inverse_dynamics(q[:JUDGED], v[:JUDGED], a[:JUDGED]) - judged).max()
    if not error <= AGREEMENT:
        raise AppellError(f"the Agile Wrist's torques are {error:.1e} N m from Pinocchio's; they are not timed.")

    own = {"f": wrist.inverse_dynamics, "q": q, "v": v, "a": a, "out": np.empty((count, 3))}
    other = {"f": peer.torques, "y": y, "rate": rate, "gain": gain, "N": count}
    timings = time_in_turns(
        {
            "theirs": TimedStatement("[f(y[i], rate[i], gain[i]) for i in range(N)]", other),
            "ours": TimedStatement("f(q, v, a, out=out)", own),
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
        Figure(part, robot, "sample", "torques of the Agile Wrist, a sample", ours, "s", aim(part, robot, "sample")),
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
