"""`appell count ROBOT`: what the equations of motion of a robot cost, by one formulation or by all."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from appell.cli.options import Base, Physical, RobotName
from appell.cli.reading import read_system
from appell.cli.screen import screen
from appell.compile.count import OpCount
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.formulate.systems import formulation_names
from appell.model.system import System

QUANTITIES = ("inverse_dynamics", "bias", "mass_matrix", "forward_dynamics")


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Examples: [bold]appell count puma[/]; [bold]appell count arm.urdf --formulation newton-euler[/]."
    )
    def count(
        robot: RobotName,
        formulation: Annotated[
            str | None, typer.Option(help="One of 'appell formulations', in detail; all of them if none.")
        ] = None,
        inertia: Annotated[str | None, typer.Option(help="Another method for the inertia matrix.")] = None,
        forward: Annotated[str | None, typer.Option(help="Another method for forward dynamics.")] = None,
        base: Base = "fixed",
        physical: Physical = True,
    ) -> None:
        """Count the operations of a robot's compiled equations of motion."""
        found = read_system(robot, base, physical)
        if formulation or inertia or forward:
            _one(Dynamics(found, formulation, inertia=inertia, forward=forward))
        else:
            _all(found)


def _one(dynamics: Dynamics) -> None:
    """Every kind of operation of every quantity."""
    kinds = [field.name for field in fields(OpCount)]
    table = _table(f"{escape(str(dynamics.system))}, {dynamics.formulation}", *kinds, "total")
    for name in QUANTITIES:
        count = getattr(dynamics, name).count()
        table.add_row(name, *map(str, astuple(count)), str(count.total))
    screen().print(table)


def _all(robot: System) -> None:
    """Multiplications and additions of the three quantities by every formulation that suits the robot."""
    headings = [f"{quantity} {kind}" for quantity in ("inverse", "inertia", "forward") for kind in ("M", "A")]
    title, refused = f"{escape(str(robot))}: multiplications (with divisions and roots) and additions", []
    table = _table(title, *headings)
    for name in track(formulation_names(robot), description="deriving", console=Console(stderr=True), transient=True):
        try:
            dynamics = Dynamics(robot, name)
        except ModelError as error:
            refused.append(str(error).splitlines()[0])
            continue
        cells = []
        for quantity in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
            count = getattr(dynamics, quantity).count()
            cells += [str(count.mul + count.div + count.sqrt), str(count.add)]
        table.add_row(name, *cells)
    screen().print(table)
    for reason in refused:
        screen().print(reason, style="dim", highlight=False, markup=False)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=f"[bold]{title}", title_justify="left", title_style="", box=box.SIMPLE_HEAD)
    table.add_column("", style="bold", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table
