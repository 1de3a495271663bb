"""Rollouts of the PUMA with Runge-Kutta steps in the kernel and given torques for every step.

    step                 time of one step of one robot in a batch, with results every tenth step
    forward_dynamics     number of evaluations of forward dynamics that take as long
    casadi               speedup over the best build of CasADi's C
    mujoco               speedup over `mujoco.rollout` on one thread
    threads              speedup of two threads over one, in wall-clock time; the processor time, which should not grow
                         and does not depend on other processes, is stored as well

Before anything is timed, all programs have to agree on the motion.
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
from appell_lab.bench.peers.builds import BuildFolder
from appell_lab.bench.peers.comparison import largest_difference
from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.bench.peers.rollout_peers import BUILDS, STEP, CasadiRollouts, DrivenMotions, MujocoRollouts
from appell_lab.bench.subject import Subject, find, random_states

PART, ROBOT = "rollouts", "puma"
STEPS, EVERY = 50, 10
PEER_MOTIONS = 200  # number of motions for slow peers; their time per step does not depend on it
THREAD_TURNS = 4  # per turn of the others, because both cores have to be free in at least one of them
AGREEMENT = 1e-9  # relative to the largest coordinate or velocity of a motion


def runge_kutta(dyn: Dynamics) -> Scan:
    """Return the classical Runge-Kutta method with steps of `STEP` seconds and a constant torque within a step."""
    acceleration, n = dyn.forward_dynamics.tape, dyn.system.nv

    def advance(x: Vector, h: float, slope: Vector) -> list[Scalar]:
        return [a + h * b for a, b in zip(x, slope, strict=True)]

    def mean(x: Vector, *slopes: Vector) -> list[Scalar]:
        return [a + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4) for a, k1, k2, k3, k4 in zip(x, *slopes, strict=True)]

    def body(q: Vector, v: Vector, t: Scalar, tau: Vector) -> dict[str, list[Scalar]]:
        (a1,) = inline(acceleration, q, v, tau)
        v2 = advance(v, STEP / 2, a1)
        (a2,) = inline(acceleration, advance(q, STEP / 2, v), v2, tau)
        v3 = advance(v, STEP / 2, a2)
        (a3,) = inline(acceleration, advance(q, STEP / 2, v2), v3, tau)
        v4 = advance(v, STEP, a3)
        (a4,) = inline(acceleration, advance(q, STEP, v3), v4, tau)
        return {"q": mean(q, v, v2, v3, v4), "v": mean(v, a1, a2, a3, a4)}

    return Scan.of("runge_kutta", {"q": n, "v": n}, {}, {"t": (), "tau": n}, body, owner=dyn.system.owner)


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure everything that runs on one core; parameters as in `batch.measure`."""
    subject = find(ROBOT)
    scan, given = runge_kutta(subject.dynamics), motions(subject, count)
    peers, refusals = _peers(subject, scan, given.first(min(count, PEER_MOTIONS)))
    names = {"f": scan, "q": given.q, "v": given.v, "t": _clock(), "tau": given.torque, "every": EVERY}
    out, accelerations = given.output_arrays(), np.empty_like(given.v)
    every_step = tuple(np.empty((count, STEPS, subject.robot.nv)) for _ in range(2))
    forward = names | {"f": subject.dynamics.forward_dynamics, "tau": given.torque[:, 0].copy(), "out": accelerations}
    statements = {
        "step": TimedStatement("f(q, v, t, tau, every=every, out=out)", names | {"out": out}),
        "step_told_every_time": TimedStatement("f(q, v, t, tau, out=out)", names | {"out": every_step}),
        "forward_dynamics": TimedStatement("f(q, v, tau, out=out)", forward),
    }
    statements |= {name: TimedStatement("f()", {"f": run}) for name, run in peers.items()}
    samples = {"step": given.total_steps, "step_told_every_time": given.total_steps, "forward_dynamics": count}
    timings = time_in_turns(statements, turns, tick)
    best = {name: timing.best / samples.get(name, min(count, PEER_MOTIONS) * STEPS) for name, timing in timings.items()}
    details = {f"{name}_seconds": seconds for name, seconds in best.items()} | {
        f"no_{k}": r for k, r in refusals.items()
    }
    step = best["step"]

    def figure(name: str, title: str, value: float, unit: str, details: dict | None = None) -> Figure:
        return Figure(PART, ROBOT, name, title, value, unit, aim(PART, ROBOT, name), details=details or {})

    figures = [
        figure("step", "one Runge-Kutta step", step, "s", details),
        figure("forward_dynamics", "the same, in forward dynamics", step / best["forward_dynamics"], "times"),
    ]
    if casadi := [best[name] for name in peers if name.startswith("CasADi")]:
        figures.append(figure("casadi", "the same, against CasADi's C", min(casadi) / step, "x"))
    if MujocoRollouts.name in peers:
        figures.append(figure("mujoco", "the same, against mujoco.rollout", best[MujocoRollouts.name] / step, "x"))
    return figures


def measure_threads(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Compare two threads with one, on two cores."""
    subject = find(ROBOT)
    scan, given = runge_kutta(subject.dynamics), motions(subject, count)
    out = given.output_arrays()
    wall: dict[int, list[float]] = {1: [], 2: []}
    processor: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(turns):
        for threads in wall:
            start = perf_counter(), process_time()
            scan(given.q, given.v, _clock(), given.torque, every=EVERY, threads=threads, out=out)
            wall[threads].append(perf_counter() - start[0])
            processor[threads].append(process_time() - start[1])
        tick()
    one, two = (min(times) / given.total_steps for times in wall.values())
    details = {
        "one_thread_seconds": one,
        "two_threads_seconds": two,
        "one_thread_processor_seconds": min(processor[1]) / given.total_steps,
        "two_threads_processor_seconds": min(processor[2]) / given.total_steps,
        "cores": cores(),
    }
    title = "two threads against one"
    return [Figure(PART, ROBOT, "threads", title, one / two, "x", aim(PART, ROBOT, "threads"), details=details)]


def motions(subject: Subject, count: int) -> DrivenMotions:
    """Return random initial states and torques."""
    states, draw = random_states(subject, count), np.random.default_rng(2)
    torque = draw.uniform(-5.0, 5.0, (count, STEPS, subject.robot.nv))
    return DrivenMotions(states["q"], states["v"], torque, EVERY)


def _clock() -> np.ndarray:
    return STEP * np.arange(STEPS)


def _peers(
    subject: Subject, scan: Scan, given: DrivenMotions
) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """Return the peers that are available and agree with appell, by name; and why the others are not available."""
    ours = scan(given.q, given.v, _clock(), given.torque, every=given.every)
    folder = BuildFolder()
    candidates: Sequence[CasadiRollouts | MujocoRollouts]
    candidates = [*(CasadiRollouts(folder, build) for build in BUILDS), MujocoRollouts()]
    ready, refusals = {}, {}
    for peer in candidates:
        try:
            prepared = peer.motions(subject, given)
        except PeerUnavailableError as reason:
            refusals[peer.name] = str(reason)
            continue
        prepared.run()
        error = largest_difference(ours, prepared.results())
        if not error <= AGREEMENT:
            raise AppellError(
                f"the motions of {peer.name} differ from those of appell by {error:.1e}; they are not timed."
            )
        ready[peer.name] = prepared.run
    return ready, refusals
