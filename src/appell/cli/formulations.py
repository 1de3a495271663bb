"""`appell formulations`: list the formulations of the equations of motion and their methods."""

from __future__ import annotations

from typing import Any

from appell.cli import options
from appell.cli.options import LOOK, new_app
from appell.cli.output import Printer, table

FORMULATED = ("inverse_dynamics", "inertia_matrix", "forward_dynamics")
TITLES = {
    "inverse_dynamics": "Inverse dynamics",
    "inertia_matrix": "Inertia matrix: Dynamics(robot, …, inertia)",
    "forward_dynamics": "Forward dynamics: Dynamics(robot, …, forward)",
}

app = new_app()


@app.command(
    rich_help_panel=LOOK,
    epilog="Example: [bold]appell formulations[/], then in Python "
    "[bold]ap.Dynamics(robot, 'newton-euler', inertia='walker-orin', forward='cholesky')[/].",
)
def formulations(json: options.Json = False) -> None:
    """List the formulations of the equations of motion and the methods that they combine."""
    from appell.formulate.formulations import (
        FORMULATIONS,
        FORWARD_DYNAMICS,
        INVERSE_DYNAMICS,
        MASS_MATRIX,
        REQUIREMENTS,
        SOLVERS,
    )
    from appell.formulate.systems import CLOSED_FORMS

    def methods(known: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "source": method.source,
                "only_for": "; ".join(REQUIREMENTS[key].description for key in method.needs),
            }
            for name, method in known.items()
        ]

    known: dict[str, list[dict[str, Any]]] = {
        "formulations": [
            {
                "name": name,
                "inverse_dynamics": formulation.inverse_dynamics.name,
                "inertia_matrix": formulation.mass_matrix.name,
                "forward_dynamics": formulation.forward_dynamics.name,
            }
            for name, formulation in FORMULATIONS.items()
        ]
        + [{"name": name, "inverse_dynamics": source} for name, source in CLOSED_FORMS.items()],
        "inverse_dynamics": methods(INVERSE_DYNAMICS),
        "inertia_matrix": methods(MASS_MATRIX),
        "forward_dynamics": [
            {"name": name, "source": solver.source, "only_for": ""} for name, solver in SOLVERS.items()
        ]
        + methods(FORWARD_DYNAMICS),
    }
    heads = {"name": "name"} | {key: key.replace("_", " ") for key in FORMULATED}
    columns = {"name": "name", "source": "description", "only_for": "only for"}
    Printer(json).answer(
        known,
        table(known["formulations"], heads, "Formulations: Dynamics(robot, formulation)"),
        *(table(known[key], columns, title) for key, title in TITLES.items()),
    )
