"""Rollouts: the PUMA in steps of Runge and Kutta, whole steps in the kernel, torques given for every step.

    step                 of one robot in a batch, results every tenth step
    forward_dynamics     how many evaluations of forward dynamics take as long, in the same turns
    casadi               how many times faster than the best build of CasADi's C
    mujoco               how many times faster than `mujoco.rollout` on one thread
    threads              two threads against one, by the clock on the wall; the processor time of both stands beside it,
                         which should not grow, and which others on the machine do not add to

Before anything is timed, all of them have to agree on the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter, process_time

import numpy as np

from appell.algebra.scalar import Scalar, Vector
from appell.compile.native.threads import cores
from appell.compile.scan import Scan
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell_lab.bench.aims import aim
from appell_lab.bench.clock import TimedStatement, time_in_turns
from appell_lab.bench.figure import Figure
from appell_lab.bench.peers.comparison import disagreement
from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.bench.peers.rollout_peers import BUILDS, STEP, CasadiRollouts, DrivenMotions, MujocoRollouts
from appell_lab.bench.peers.builds import BuildFolder
from appell_lab.bench.subject import Subject, find, random_states

PART, ROBOT = "rollouts", "puma"
STEPS, EVERY = 50, 10
FEW = 200  # motions that slow peers are given: more do not make them faster
THREAD_TURNS = 4  # for each turn of the others: one moment in which both cores are free is enough
AGREEMENT = 1e-9  # of the largest coordinate or velocity of a motion


def runge_kutta(dyn: Dynamics) -> Scan:
    """Steps of the classical method, of `STEP` seconds; the torque is the same all through a step."""
    acceleration, n = dyn.forward_dynamics.tape, dyn.system.nv

    def along(x: Vector, h: float, slope: Vector) -> list[Scalar]:
        return [a + h * b for a, b in zip(x, slope, strict=True)]

    def mean(x: Vector, *slopes: Vector) -> list[Scalar]:
        return [a + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4) for a, k1, k2, k3, k4 in zip(x, *slopes, strict=True)]

    def body(q: Vector, v: Vector, t: Scalar, tau: Vector) -> dict[str, list[Scalar]]:
        (a1,) = inline(acceleration, q, v, tau)
        v2 = along(v, STEP / 2, a1)
        (a2,) = inline(acceleration, along(q, STEP / 2, v), v2, tau)
        v3 = along(v, STEP / 2, a2)
        (a3,) = inline(acceleration, along(q, STEP / 2, v2), v3, tau)
        v4 = along(v, STEP, a3)
        (a4,) = inline(acceleration, along(q, STEP, v3), v4, tau)
        return {"q": mean(q, v, v2, v3, v4), "v": mean(v, a1, a2, a3, a4)}

    return Scan.of("runge_kutta", {"q": n, "v": n}, {}, {"t": (), "tau": n}, body, owner=dyn.system.owner)


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Everything on one core."""
    subject = find(ROBOT)
    march, given = runge_kutta(subject.dynamics), motions(subject, count)
    peers, refusals = _peers(subject, march, given.first(min(count, FEW)))
    names = {"f": march, "q": given.q, "v": given.v, "t": _clock(), "tau": given.torque, "every": EVERY}
    out, small = given.room(), np.empty_like(given.v)
    every_step = tuple(np.empty((count, STEPS, subject.robot.nv)) for _ in range(2))
    forward = names | {"f": subject.dynamics.forward_dynamics, "tau": given.torque[:, 0].copy(), "out": small}
    contestants = {
        "step": TimedStatement("f(q, v, t, tau, every=every, out=out)", names | {"out": out}),
        "step_told_every_time": TimedStatement("f(q, v, t, tau, out=out)", names | {"out": every_step}),
        "forward_dynamics": TimedStatement("f(q, v, tau, out=out)", forward),
    }
    contestants |= {name: TimedStatement("f()", {"f": run}) for name, run in peers.items()}
    samples = {"step": given.taken, "step_told_every_time": given.taken, "forward_dynamics": count}
    timings = time_in_turns(contestants, turns, tick)
    best = {name: timing.best / samples.get(name, min(count, FEW) * STEPS) for name, timing in timings.items()}
    details = {f"{name}_seconds": seconds for name, seconds in best.items()} | {
        f"no_{k}": r for k, r in refusals.items()
    }
    step = best["step"]

    def figure(name: str, title: str, value: float, unit: str, details: dict | None = None) -> Figure:
        return Figure(PART, ROBOT, name, title, value, unit, aim(PART, ROBOT, name), details=details or {})

    found = [
        figure("step", "a step of Runge and Kutta", step, "s", details),
        figure("forward_dynamics", "the same, in forward dynamics", step / best["forward_dynamics"], "times"),
    ]
    if ours := [best[name] for name in peers if name.startswith("CasADi")]:
        found.append(figure("casadi", "the same, against CasADi's C", min(ours) / step, "x"))
    if MujocoRollouts.name in peers:
        found.append(figure("mujoco", "the same, against mujoco.rollout", best[MujocoRollouts.name] / step, "x"))
    return found


def measure_threads(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Two threads against one, on two cores."""
    subject = find(ROBOT)
    march, given = runge_kutta(subject.dynamics), motions(subject, count)
    out = given.room()
    wall: dict[int, list[float]] = {1: [], 2: []}
    processor: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(turns):
        for threads in wall:
            begun = perf_counter(), process_time()
            march(given.q, given.v, _clock(), given.torque, every=EVERY, threads=threads, out=out)
            wall[threads].append(perf_counter() - begun[0])
            processor[threads].append(process_time() - begun[1])
        tick()
    one, two = (min(times) / given.taken for times in wall.values())
    details = {
        "one_thread_seconds": one,
        "two_threads_seconds": two,
        "one_thread_processor_seconds": min(processor[1]) / given.taken,
        "two_threads_processor_seconds": min(processor[2]) / given.taken,
        "cores": cores(),
    }
    title = "two threads against one"
    return [Figure(PART, ROBOT, "threads", title, one / two, "x", aim(PART, ROBOT, "threads"), details=details)]


def motions(subject: Subject, count: int) -> DrivenMotions:
    """Random starts and torques."""
    states, draw = random_states(subject, count), np.random.default_rng(2)
    torque = draw.uniform(-5.0, 5.0, (count, STEPS, subject.robot.nv))
    return DrivenMotions(states["q"], states["v"], torque, EVERY)


def _clock() -> np.ndarray:
    return STEP * np.arange(STEPS)


def _peers(
    subject: Subject, march: Scan, given: DrivenMotions
) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """Those that can and agree with us, by name; and why the others cannot."""
    ours = march(given.q, given.v, _clock(), given.torque, every=given.every)
    workshop = BuildFolder()
    ways: Sequence[CasadiRollouts | MujocoRollouts]
    ways = [*(CasadiRollouts(workshop, build) for build in BUILDS), MujocoRollouts()]
    ready, refusals = {}, {}
    for peer in ways:
        try:
            prepared = peer.motions(subject, given)
        except PeerUnavailableError as reason:
            refusals[peer.name] = str(reason)
            continue
        prepared.run()
        error = disagreement(ours, prepared.results())
        if not error <= AGREEMENT:
            raise AppellError(f"the motions of {peer.name} are {error:.1e} from ours; they are not timed.")
        ready[peer.name] = prepared.run
    return ready, refusals
