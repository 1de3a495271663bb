"""`appell formulations`: every way to the equations of motion, by name."""

from __future__ import annotations

import typer
from rich import box
from rich.table import Table

from appell.cli.screen import screen
from appell.formulate.formulations import FORMULATIONS
from appell.formulate.methods import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, NEEDS, SOLVERS
from appell.formulate.systems import CLOSED_FORMS


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Example: [bold]appell formulations[/], then in Python "
        "[bold]ap.Dynamics(robot, 'newton-euler', inertia='walker-orin', forward='cholesky')[/]."
    )
    def formulations() -> None:
        """List the formulations, and the methods that they are made of."""
        console = screen()
        table = _table(
            "Formulations: Dynamics(robot, formulation)", "inverse dynamics", "inertia matrix", "forward dynamics"
        )
        for name, way in FORMULATIONS.items():
            methods = (way.inverse_dynamics, way.mass_matrix, way.forward_dynamics)
            table.add_row(name, *(method.name for method in methods))
        for name, source in CLOSED_FORMS.items():
            table.add_row(name, source)
        console.print(table)
        for title, known in (
            ("Inverse dynamics", INVERSE_DYNAMICS),
            ("Inertia matrix: Dynamics(robot, …, inertia)", MASS_MATRIX),
        ):
            table = _table(title, "what it is", "only for")
            for name, method in known.items():
                table.add_row(name, method.source, _needs(method.needs))
            console.print(table)
        table = _table("Forward dynamics: Dynamics(robot, …, forward)", "what it is", "only for")
        for name, source in SOLVERS.items():
            table.add_row(name, source, "")
        for name, method in FORWARD_DYNAMICS.items():
            table.add_row(name, method.source, _needs(method.needs))
        console.print(table)


def _needs(needs: tuple[str, ...]) -> str:
    return "; ".join(NEEDS[need].wanted for need in needs)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=f"[bold]{title}", title_justify="left", title_style="", box=box.SIMPLE_HEAD)
    table.add_column("name", style="bold", no_wrap=True)
    for column in columns:
        table.add_column(column)
    return table
