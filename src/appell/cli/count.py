"""`appell count ROBOT`: what the equations of motion of a robot cost, by one formulation or by all."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Annotated, Any

import typer

from appell.cli import completions
from appell.cli.answers import table, tell
from appell.cli.options import LOOK, Base, Json, Physical, RobotName
from appell.cli.reading import read_system
from appell.cli.screen import say, screen
from appell.compile.count import OpCount
from appell.display.bar import Bar
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.formulate.systems import formulation_names
from appell.model.system import System

QUANTITIES = ("inverse_dynamics", "bias", "mass_matrix", "forward_dynamics")
COMPARED = {"inverse": "inverse_dynamics", "inertia": "mass_matrix", "forward": "forward_dynamics"}


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=LOOK,
        epilog="Examples: [bold]appell count puma[/]; [bold]appell count arm.urdf --formulation newton-euler[/].",
    )
    def count(
        robot: RobotName,
        formulation: Annotated[
            str | None,
            typer.Option(
                help="One of 'appell formulations', in detail; all of them if not given.",
                autocompletion=completions.formulations,
            ),
        ] = None,
        inertia: Annotated[
            str | None,
            typer.Option(help="Another method for the inertia matrix.", autocompletion=completions.inertia_methods),
        ] = None,
        forward: Annotated[
            str | None,
            typer.Option(help="Another method for forward dynamics.", autocompletion=completions.forward_methods),
        ] = None,
        base: Base = "fixed",
        physical: Physical = True,
        json: Json = False,
    ) -> None:
        """Count the operations of a robot's compiled equations of motion."""
        found = read_system(robot, base, physical)
        refused: list[str] = []
        if formulation or inertia or forward:
            chosen = Dynamics(found, formulation, inertia=inertia, forward=forward)
            title, name, rows = f"{found}, {chosen.formulation}", chosen.formulation, _one(chosen)
            heads = {"function": ""} | {key: (key, "") for key in (*_kinds(), "total")}
        else:
            rows, refused = _all(found)
            title, name = f"{found}: multiplications (with divisions and roots) and additions", None
            pairs = {f"{what}_{kind}": (f"{what} {kind}", "") for what in COMPARED for kind in ("M", "A")}
            heads = {"formulation": ""} | pairs
        if json:
            units = "operations of one evaluation; M: multiplications, divisions and roots, A: additions"
            tell({"robot": found.name, "formulation": name, "counts": rows, "refused": refused, "units": units})
            return
        console = screen()
        console.print(table(rows, heads, title))
        for reason in refused:
            say(console, reason)


def _kinds() -> list[str]:
    return [field.name for field in fields(OpCount)]


def _one(dynamics: Dynamics) -> list[dict[str, Any]]:
    """Every kind of operation of every quantity."""
    counts = {name: getattr(dynamics, name).count() for name in QUANTITIES}
    return [{"function": name} | asdict(count) | {"total": count.total} for name, count in counts.items()]


def _all(robot: System) -> tuple[list[dict[str, Any]], list[str]]:
    """The three quantities by every formulation that suits the robot, and why others do not."""
    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    names = formulation_names(robot)
    with Bar("deriving", len(names), "formulations") as bar:
        for name in names:
            bar.say(f"deriving by {name}")
            try:
                dynamics = Dynamics(robot, name)
            except ModelError as error:
                refused.append(str(error).splitlines()[0])
            else:
                row: dict[str, Any] = {"formulation": name}
                for what, quantity in COMPARED.items():
                    count = getattr(dynamics, quantity).count()
                    row |= {f"{what}_M": count.mul + count.div + count.sqrt, f"{what}_A": count.add}
                rows.append(row)
            bar.advance()
    return rows, refused
