"""`appell formulations`: every way to the equations of motion, by name."""

from __future__ import annotations

from typing import Any

import typer

from appell.cli.answers import table, tell
from appell.cli.options import LOOK, Json
from appell.cli.screen import screen
from appell.formulate.formulations import FORMULATIONS
from appell.formulate.methods import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, NEEDS, SOLVERS
from appell.formulate.systems import CLOSED_FORMS

FORMULATED = {
    "inverse_dynamics": "inverse dynamics",
    "inertia_matrix": "inertia matrix",
    "forward_dynamics": "forward dynamics",
}
TITLES = {
    "inverse_dynamics": "Inverse dynamics",
    "inertia_matrix": "Inertia matrix: Dynamics(robot, …, inertia)",
    "forward_dynamics": "Forward dynamics: Dynamics(robot, …, forward)",
}


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=LOOK,
        epilog="Example: [bold]appell formulations[/], then in Python "
        "[bold]ap.Dynamics(robot, 'newton-euler', inertia='walker-orin', forward='cholesky')[/].",
    )
    def formulations(json: Json = False) -> None:
        """List the formulations, and the methods that they are made of."""
        known = _known()
        if json:
            tell(known)
            return
        console = screen()
        heads = {"name": "name"} | FORMULATED
        console.print(table(known["formulations"], heads, "Formulations: Dynamics(robot, formulation)"))
        for key, title in TITLES.items():
            console.print(table(known[key], {"name": "name", "source": "what it is", "only_for": "only for"}, title))


def _known() -> dict[str, list[dict[str, Any]]]:
    """The formulations, and by what they are made of the methods for it."""
    ways = [
        {"name": name}
        | {
            key: method.name
            for key, method in zip(
                FORMULATED, (way.inverse_dynamics, way.mass_matrix, way.forward_dynamics), strict=True
            )
        }
        for name, way in FORMULATIONS.items()
    ]
    ways += [{"name": name, "inverse_dynamics": source} for name, source in CLOSED_FORMS.items()]
    solvers = [{"name": name, "source": source, "only_for": ""} for name, source in SOLVERS.items()]
    return {
        "formulations": ways,
        "inverse_dynamics": _methods(INVERSE_DYNAMICS),
        "inertia_matrix": _methods(MASS_MATRIX),
        "forward_dynamics": solvers + _methods(FORWARD_DYNAMICS),
    }


def _methods(known: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "source": method.source, "only_for": "; ".join(NEEDS[need].wanted for need in method.needs)}
        for name, method in known.items()
    ]
