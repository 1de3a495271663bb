"""The tree robot of Shafei and Shafei 2018, ten rods, dropped inside its round wall from 100,000 random configurations.

Run it with: appell sweep examples/studies/shafei_drops.py --out drops.zarr --workers 2

Every drop starts at rest, with base and joint angles drawn until all eleven points are inside the wall, and lasts as
long as in the paper. Impacts are located exactly and are elastic, so a point can hit the wall many times.
"""

from functools import cache

import numpy as np

import appell as ap

WALL, UNTIL, CLEARANCE = 2.5, 1.5, 0.01  # m, s, m
POINTS = [f"O{k}" for k in range(1, 12)]
MAX_STORED_IMPACTS = 32  # impacts whose times are stored
table = 100_000


@cache
def figure():
    return ap.Dynamics(ap.load("tree10"))


def study(seed, until=UNTIL):
    dyn = figure()
    motion = ap.simulate(
        dyn,
        start(dyn, seed),
        until=until,
        contacts=ap.Contact("all", ap.Circle(WALL), restitution=1.0, friction=0.0),
        impact_law="newton",
        progress=False,
    )
    impacts = motion.impacts
    impulses = np.array([impact.impulses.max() for impact in impacts])
    largest = int(impulses.argmax()) if len(impacts) else -1
    times = np.full(MAX_STORED_IMPACTS, np.nan)
    times[: len(impacts)] = [impact.time for impact in impacts[:MAX_STORED_IMPACTS]]
    hits = [sum(point in impact.points for impact in impacts) for point in POINTS]
    return {
        "impacts": len(impacts),  # number of impact times; several points may hit at the same time
        "hits": np.array(hits),  # per point
        "times": times,
        "largest_impulse": impulses[largest] if impacts else 0.0,
        "largest_time": impacts[largest].time if impacts else np.nan,
        "energy_change": motion.energy[-1] - motion.energy[0],
        "finished": motion.finished,
    }


def start(dyn, seed):
    """Return a random configuration inside the wall."""
    rng = np.random.default_rng(seed)
    while True:
        q = np.concatenate([rng.uniform(-WALL, WALL, (64, 2)), rng.uniform(-np.pi, np.pi, (64, 10))], axis=1)
        reach = [np.linalg.norm(dyn.pose(point)(q)[:, :2, 3], axis=1) for point in POINTS]
        inside = np.flatnonzero(np.max(reach, axis=0) < WALL - CLEARANCE)
        if len(inside):
            return q[inside[0]]
