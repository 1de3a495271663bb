"""rollout: many motions of one system in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from appell.dynamics import Dynamics
from appell.model.system import System
from appell.motion.records import Records
from appell.simulation.contact import Contact
from appell.simulation.rollouts.contacts.impulses import SWEEPS
from appell.simulation.rollouts.contacts.penalty import DEPTH
from appell.simulation.rollouts.plan import Rollout


def rollout(
    dyn: Dynamics | System,
    q0: Any = None,
    v0: Any = None,
    torque: Any = None,
    steps: int = 1000,
    dt: float = 1e-3,
    *,
    method: str = "rk4",
    law: Any = None,
    reference: Any = None,
    memory: Any = None,
    period: float | None = None,
    cost: Callable | None = None,
    final_cost: Callable | None = None,
    saturate: bool = False,
    contacts: Contact | Iterable[Contact] | None = None,
    stops: float | Mapping[str, float] | None = None,
    depth: float = DEPTH,
    stiffness: float | None = None,
    sweeps: int = SWEEPS,
    parameters: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    every: int = 1,
    start: float = 0.0,
    project: bool = False,
    energy: bool = False,
    threads: int | None = None,
    dtype: Any = float,
    progress: bool | None = None,
    check: bool = True,
) -> Records:
    """Many motions of one system, `steps` steps of `dt` seconds each, whole steps in machine code.

    `dyn` are Dynamics; a system stands for its Dynamics with friction and rotors. q0 (its start if None) and v0 (rest)
    are (n,) for all members or (members, n); v0 of a constrained robot are its independent velocities, and its loops
    are closed in q0, or by `project=True`.

    What acts. `torque` is None, (nu,), (steps, nu), (members, nu) or (members, steps, nu), held through each step; two
    axes are (steps, nu) if the first is as long as the steps, and (members, 1, nu) says the other. `law` is feedback
    over traced scalars, compiled into the kernel, to which `torque` is added: a function of (t, q, v), asked in every
    stage of a step; one of (t, q, v, memory) that gives (tau, memory), asked once a step, with its first memory as
    `memory`, (m,) or (members, m), or as its attribute `start`; with a `period`, a whole number of steps, either is
    asked once a period; or a design of `ap.control` with a `reference`, or a regulator. `saturate=True` cuts torques
    off at the limits of the actuators. `wrenches` gives for every frame of the Dynamics what `torque` is with 6 numbers
    for nu. `parameters` are the inertial parameters of free bodies, (10 a body,) or (members, 10 a body). `prescribed`
    gives motions as for `simulate`.

    How. `method` is rk4 (order 4), euler (semi-implicit, order 1), midpoint (implicit, order 2, symmetric in time: no
    drift of energy; six turns a step, see `schemes`), or moreau (order 2, contacts as impulses). `contacts` and `stops`
    are those of `simulate`, and approximate, unlike there: springs of the given `depth` or `stiffness` with rk4, euler
    and midpoint, which also round dry friction off; with moreau impulses, by a fixed number of `sweeps`.

    What it costs. `cost(t, q, v, tau)`, traced, is summed up as Σ dt cost at the beginnings of steps; to this comes
    `final_cost(q, v)` at the end. `records["cost"]` is the sum so far, `records.cost` all of it.

    The records have q, v and tau at t = `start` and after every `every`-th step, and energy with `energy=True`. tau is
    what acted in the step that led to a row (a continuous law's at its beginning); in the first row, in the first step.
    A member that starts with a number that is not finite, or whose motion blows up, is NaN from there on, and
    `records.finished` tells; the others go on. `threads` is for this call what `ap.set_threads` is for all; `dtype`
    float32 computes in single precision. A bar shows progress on a terminal; Ctrl-C raises KeyboardInterrupt with what
    there is as its attribute `records`. With `check` (the default) a `StepWarning` says if damping or contacts are too
    stiff for the step. Whoever calls again and again makes a `Rollout` once: it keeps the kernel.
    """
    plan = Rollout(
        dyn,
        method=method,
        law=law,
        reference=reference,
        memory=memory,
        period=period,
        cost=cost,
        final_cost=final_cost,
        saturate=saturate,
        contacts=contacts,
        stops=stops,
        depth=depth,
        stiffness=stiffness,
        sweeps=sweeps,
        wrenches=wrenches,
    )
    return plan(
        q0,
        v0,
        torque,
        steps,
        dt,
        every=every,
        parameters=parameters,
        wrenches=wrenches,
        prescribed=prescribed,
        start=start,
        project=project,
        energy=energy,
        threads=threads,
        dtype=dtype,
        progress=progress,
        check=check,
    )
