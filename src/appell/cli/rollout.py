"""`appell rollout ROBOT`: many motions of a robot from random starts, and how they spread."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from appell.cli.answers import table, tell
from appell.cli.options import SIMULATE, Actuators, Base, Force, Json, Physical, Plot, RobotName

LABELS = ("least", "median", "most")
ENDINGS = (".npz", ".zarr")


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=SIMULATE,
        epilog="Example: [bold]appell rollout puma --members 10000 --steps 500 --spread 0.1 --plot fan.png[/].",
    )
    def rollout(
        robot: RobotName,
        members: Annotated[int, typer.Option(help="How many motions.")] = 1000,
        steps: Annotated[int, typer.Option(help="Steps of each.")] = 1000,
        dt: Annotated[float, typer.Option(help="Length of a step, in seconds.")] = 1e-3,
        spread: Annotated[float, typer.Option(help="Of the starts about --q: standard deviation, rad or m.")] = 0.1,
        speed: Annotated[
            float, typer.Option(help="Of the velocities about rest: standard deviation, rad/s or m/s.")
        ] = 0.0,
        q: Annotated[
            str, typer.Option(help="Middle of the starts in rad or m, numbers with commas; home if not given.")
        ] = "",
        torque: Annotated[str, typer.Option(help="Constant actuator forces, N m or N; none if not given.")] = "",
        seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
        method: Annotated[str, typer.Option(help="rk4, euler, midpoint or moreau.")] = "rk4",
        every: Annotated[int, typer.Option(help="Keep every so many steps.")] = 10,
        stops: Annotated[
            float | None, typer.Option(help="Restitution of the joints at their limits, 0 to 1; no stops if not given.")
        ] = None,
        saturate: Annotated[bool, typer.Option("--saturate", help="Cut torques off at the actuators' limits.")] = False,
        actuators: Actuators = False,
        base: Base = "fixed",
        physical: Physical = True,
        threads: Annotated[int | None, typer.Option(help="Cores to use; one if not given.")] = None,
        out: Annotated[
            Path | None, typer.Option("--output", "--out", "-o", help="Records to write: .npz or .zarr.")
        ] = None,
        plot: Plot = None,
        json: Json = False,
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
        answer, console = _answer(found, seconds), screen(aside=json)
        if json:
            tell(answer)
        else:
            say(console, f"{model.name}: {members} motions, {steps} steps of {dt:g} s by {method}, in {seconds:.3g} s")
            _show(console, answer)
        for path in filter(None, (out, plot)):
            say(console, f"written {path}")
        if len(found.lost):
            say(console, f"lost {len(found.lost)} of {members} motions, which became infinite: a shorter --dt may help")


def _answer(found: Any, seconds: float) -> dict[str, Any]:
    """What was asked, what became of it, and the spread at the end of members that got there."""
    import numpy as np

    done = found[found.finished]
    titles = [title for title in found.columns if title.startswith(("q_", "v_")) or title == "energy"]
    ends = {title: np.quantile(done[title][:, -1], (0.0, 0.5, 1.0)) for title in titles} if len(done) else {}
    return {
        **found.about,
        "members": len(found),
        "finished": int(found.finished.sum()),
        "seconds": seconds,
        "end": {title: dict(zip(LABELS, row, strict=True)) for title, row in ends.items()},
        "units": {"seconds": "s", "dt": "s"} | {title: found.unit(title) for title in ends},
    }


def _show(console: Any, answer: dict[str, Any]) -> None:
    rows = [{"column": title, "unit": answer["units"][title]} | row for title, row in answer["end"].items()]
    heads = {"column": "column", "unit": "unit"} | {key: (key, ".6g") for key in LABELS}
    console.print(table(rows, heads, "At the end"))
