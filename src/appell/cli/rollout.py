"""`appell rollout ROBOT`: many motions of a robot from random starts, and how they spread."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli.options import Actuators, Base, Force, Physical, Plot, RobotName

ENDINGS = (".npz", ".zarr")


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Example: [bold]appell rollout puma --members 10000 --steps 500 --spread 0.1 --plot fan.png[/]."
    )
    def rollout(
        robot: RobotName,
        members: Annotated[int, typer.Option(help="How many motions.")] = 1000,
        steps: Annotated[int, typer.Option(help="Steps of each.")] = 1000,
        dt: Annotated[float, typer.Option(help="Length of a step, in seconds.")] = 1e-3,
        spread: Annotated[float, typer.Option(help="Of the starts about --q: standard deviation, rad or m.")] = 0.1,
        speed: Annotated[float, typer.Option(help="Of the velocities about rest: the same, per second.")] = 0.0,
        q: Annotated[str, typer.Option(help="Middle of the starts, numbers with commas; home if none.")] = "",
        torque: Annotated[str, typer.Option(help="Constant actuator forces; none if none.")] = "",
        seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
        method: Annotated[str, typer.Option(help="rk4, euler, midpoint or moreau.")] = "rk4",
        every: Annotated[int, typer.Option(help="Keep every so many steps.")] = 10,
        stops: Annotated[
            float | None, typer.Option(help="Restitution of the joints at their limits; no stops if not given.")
        ] = None,
        saturate: Annotated[bool, typer.Option("--saturate", help="Cut torques off at the actuators' limits.")] = False,
        actuators: Actuators = False,
        base: Base = "fixed",
        physical: Physical = True,
        threads: Annotated[int | None, typer.Option(help="Cores to use; one if not given.")] = None,
        out: Annotated[Path | None, typer.Option("--out", "-o", help="Records to write: .npz or .zarr.")] = None,
        plot: Plot = None,
        json: Annotated[bool, typer.Option("--json", help="Machine-readable, to stdout.")] = False,
        force: Force = False,
    ) -> None:
        """Many motions of a robot from random starts, in one kernel, and how they spread."""
        import time

        import numpy as np

        from appell.cli.numbers import numbers
        from appell.cli.reading import read_system
        from appell.cli.screen import say, screen
        from appell.cli.targets import PICTURES, check_target
        from appell.dynamics import Dynamics
        from appell.errors import check_number
        from appell.simulation.rollouts.arguments import number_of_steps
        from appell.simulation.rollouts.rollout import rollout as run

        for path, endings in ((out, ENDINGS), (plot, PICTURES)):
            check_target(path, force, endings)
        number_of_steps("--members", members)
        for what, value in (("--spread", spread), ("--speed", speed)):
            check_number(what, value, least=0.0)
        model = read_system(robot, base, physical)
        rng, middle = np.random.default_rng(seed), numbers(q, "--q", model.nq) if q else model.start
        starts = model.integrate(middle, spread * rng.normal(size=(members, model.nv)))
        options: dict[str, Any] = {"method": method, "every": every, "stops": stops, "saturate": saturate}
        forces = numbers(torque, "--torque", model.nu) if torque else None
        begun = time.perf_counter()
        v0 = speed * rng.normal(size=(members, model.nv))
        dyn = Dynamics(model, friction=actuators, rotors=actuators)
        found = run(dyn, starts, v0, forces, steps, dt, energy=True, threads=threads, **options)
        seconds = time.perf_counter() - begun
        if out is not None:
            found.write(out, overwrite=True)
        if plot is not None:
            found.plot(plot)
        if json:
            typer.echo(_text(found, seconds))
            return
        console = screen()
        say(console, f"{model.name}: {members} motions, {steps} steps of {dt:g} s by {method}, in {seconds:.3g} s")
        _show(console, found)
        for path in filter(None, (out, plot)):
            say(console, f"written {path}")
        if len(found.lost):
            say(console, f"lost {len(found.lost)} of {members} motions, which became infinite: a shorter --dt may help")


def _spread(found: Any) -> dict[str, tuple[float, float, float]]:
    """Least, middle and greatest value at the end of every coordinate and velocity, of members that got there."""
    import numpy as np

    done = found[found.finished]
    titles = [title for title in found.columns if title.startswith(("q_", "v_")) or title == "energy"]
    if not len(done):
        return {}
    ends = {title: np.quantile(done[title][:, -1], (0.0, 0.5, 1.0)) for title in titles}
    return {title: (float(low), float(middle), float(high)) for title, (low, middle, high) in ends.items()}


def _text(found: Any, seconds: float) -> str:
    import json

    labels = ("least", "median", "most")
    told = {
        **found.about,
        "members": len(found),
        "finished": int(found.finished.sum()),
        "seconds": seconds,
        "end": {title: dict(zip(labels, row, strict=True)) for title, row in _spread(found).items()},
    }
    return json.dumps(told, indent=2)


def _show(console: Any, found: Any) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="at the end", title_justify="left")
    for k, column in enumerate(("column", "unit", "least", "median", "most")):
        table.add_column(column, justify="left" if k < 2 else "right")
    for title, row in _spread(found).items():
        table.add_row(escape(title), escape(found.unit(title)), *(f"{value:.6g}" for value in row))
    console.print(table)
