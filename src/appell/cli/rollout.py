"""`appell rollout ROBOT`: simulate many motions of a robot from random initial states and show their spread."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np

import appell as ap
from appell.cli import options
from appell.cli.input import (
    PICTURES,
    check_target,
    configuration_if_given,
    numbers_if_given,
    read_system,
    warnings_printed,
)
from appell.cli.options import OUTPUT, SIMULATE, SOLVER, START, new_app, option
from appell.cli.output import Printer, table
from appell.errors import check_number

LABELS = ("least", "median", "most")
ENDINGS = (".npz", ".zarr")

app = new_app()


@app.command(
    rich_help_panel=SIMULATE,
    epilog="Example: [bold]appell rollout puma --members 10000 --steps 500 --spread 0.1 --plot fan.png[/].",
)
def rollout(
    robot: options.RobotName,
    members: Annotated[int, option("Number of motions to simulate.", START)] = 1000,
    spread: Annotated[
        float, option("Standard deviation of the initial configurations around --q, rad or m.", START)
    ] = 0.1,
    speed: Annotated[float, option("Standard deviation of the initial velocities, rad/s or m/s.", START)] = 0.0,
    q: Annotated[
        str,
        option("Mean initial configuration in rad or m, comma-separated; by default the home configuration.", START),
    ] = "",
    seed: Annotated[int, option("Seed of the random numbers.", START)] = 0,
    torque: options.Torque = "",
    saturate: options.Saturate = False,
    no_friction: options.NoFriction = False,
    no_rotors: options.NoRotors = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    stops: options.Stops = None,
    steps: Annotated[int, option("Number of time steps.", SOLVER)] = 1000,
    dt: Annotated[float, option("Time step, in s.", SOLVER)] = 1e-3,
    method: Annotated[str, option("Integration method: rk4, euler, midpoint or moreau.", SOLVER)] = "rk4",
    every: Annotated[int, option("Store every N-th step.", SOLVER)] = 10,
    threads: Annotated[int | None, option("Number of threads; one by default.", SOLVER)] = None,
    out: Annotated[
        Path | None, option("Write the records to this .npz or .zarr file.", OUTPUT, "--output", "--out", "-o")
    ] = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Simulate many motions from random initial states in one compiled kernel and show their spread."""
    from appell.simulation.options import Output, checked_steps
    from appell.simulation.rollouts.results import check_memory

    for path, endings in ((out, ENDINGS), (plot, PICTURES)):
        check_target(path, force, endings)
    checked_steps("--members", members)
    for what, value in (("--spread", spread), ("--speed", speed)):
        check_number(what, value, least=0.0)
    output = Output(every, energy=True)
    system = read_system(robot, base, physical)
    row_bytes = 8 * (system.nq + system.nv + system.nu)
    check_memory(members, checked_steps("--steps", steps) // every + 1, row_bytes)  # before the starts are drawn
    rng, mean = np.random.default_rng(seed), configuration_if_given(q, system) if q else system.start
    starts = system.integrate(mean, spread * system.step_scales * rng.normal(size=(members, system.nv)))
    if system.elastic_joints:  # motors start where their springs are deflected as in the mean
        relaxed = [system.with_relaxed_springs(np.asarray(q)[..., : system.link_nq]) for q in (starts, mean)]
        starts = relaxed[0] + (mean - relaxed[1])
    forces = numbers_if_given(torque, "--torque", system.nu)
    start = time.perf_counter()
    with warnings_printed():
        records = ap.rollout(
            system,
            starts,
            speed * system.step_scales * rng.normal(size=(members, system.nv)),
            forces,
            steps,
            dt,
            method=method,
            stops=stops,
            saturate=saturate,
            output=output,
            friction=not no_friction,
            rotors=not no_rotors,
            threads=threads,
        )
    seconds = time.perf_counter() - start
    if out is not None:
        records.write(out, overwrite=True)
    if plot is not None:
        records.plot(plot, overwrite=True)
    done = records[records.finished]
    titles = [title for title in records.columns if title.startswith(("q_", "v_")) or title == "energy"]
    ends = {title: np.quantile(done[title][:, -1], (0.0, 0.5, 1.0)) for title in titles} if len(done) else {}
    data = {
        **records.about,
        "members": len(records),
        "finished": int(records.finished.sum()),
        "seconds": seconds,
        "end": {title: dict(zip(LABELS, row, strict=True)) for title, row in ends.items()},
        "units": {"seconds": "s", "dt": "s"} | {title: records.unit(title) for title in ends},
    }
    rows = [{"column": title, "unit": data["units"][title]} | row for title, row in data["end"].items()]
    heads = {"column": "column", "unit": "unit"} | {key: (key, ".6g") for key in LABELS}
    printer = Printer(json)
    printer.answer(
        data,
        f"{system.name}: {members} motions, {steps} steps of {dt:g} s with {method}, computed in {seconds:.3g} s",
        table(rows, heads, "Final values"),
    )
    printer.say(*(f"wrote {path}" for path in (out, plot) if path is not None))
    if diverged := members - data["finished"]:
        other = "" if method == "moreau" else " or --method moreau"
        printer.say(f"{diverged} of {members} motions diverged; a smaller --dt{other} may help")
