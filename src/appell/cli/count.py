"""`appell count ROBOT`: operation counts of the equations of motion, for one formulation or for all."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import appell as ap
from appell.cli import options
from appell.cli.input import read_system
from appell.cli.options import LOOK, entries_of, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ModelError
from appell.progress import Bar

if TYPE_CHECKING:
    from appell.model.system import System

QUANTITIES = ("inverse_dynamics", "bias", "mass_matrix", "forward_dynamics")
COMPARED = {"inverse": "inverse_dynamics", "inertia": "mass_matrix", "forward": "forward_dynamics"}
METHODS = "appell.formulate.formulations"

app = new_app()


@app.command(
    rich_help_panel=LOOK,
    epilog="Examples: [bold]appell count puma[/]; [bold]appell count arm.urdf --formulation newton-euler[/].",
)
def count(
    robot: options.RobotName,
    formulation: Annotated[
        str | None,
        option(
            "Show this formulation in detail (see 'appell formulations'); by default all are compared.",
            complete=entries_of("appell.formulate.formulations:FORMULATIONS", "appell.formulate.systems:CLOSED_FORMS"),
        ),
    ] = None,
    inertia: Annotated[
        str | None,
        option(
            "Method for the inertia matrix (see 'appell formulations').", complete=entries_of(f"{METHODS}:MASS_MATRIX")
        ),
    ] = None,
    forward: Annotated[
        str | None,
        option(
            "Method for forward dynamics (see 'appell formulations').",
            complete=entries_of(f"{METHODS}:SOLVERS", f"{METHODS}:FORWARD_DYNAMICS"),
        ),
    ] = None,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    json: options.Json = False,
) -> None:
    """Count the operations of a robot's compiled equations of motion."""
    system = read_system(robot, base, physical)
    name, refused = None, list[str]()
    if formulation or inertia or forward:
        dyn = ap.Dynamics(system, formulation, inertia=inertia, forward=forward)
        counts = {quantity: _count(dyn, quantity, refused) for quantity in QUANTITIES}
        rows = [{"function": key} | asdict(each) | {"total": each.total} for key, each in counts.items() if each]
        name, title = dyn.formulation, f"{system}, {dyn.formulation}"
    else:
        rows, refused = _all(system)
        title = f"{system}: multiplications, including divisions and roots (M), and additions (A)"
    units = "operations of one evaluation; M: multiplications, divisions and roots, A: additions"
    data = {"robot": system.name, "formulation": name, "counts": rows, "refused": refused, "units": units}
    heads = {key: (key.replace("_", " "), "") if k else "" for k, key in enumerate(rows[0] if rows else ())}
    Printer(json).answer(data, table(rows, heads, title), *refused)


def _all(system: System) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the operation counts of all formulations, and the messages of those that cannot handle the robot."""
    from appell.formulate.systems import formulation_names

    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    names = formulation_names(system)
    with Bar("deriving", len(names), "formulations") as bar:
        for name in names:
            bar.say(f"deriving by {name}")
            try:
                dyn = ap.Dynamics(system, name)
            except ModelError as error:
                refused.append(str(error).splitlines()[0])
            else:
                row: dict[str, Any] = {"formulation": name}
                for what, quantity in COMPARED.items():
                    if ops := _count(dyn, quantity, refused):
                        row |= {f"{what}_M": ops.mul + ops.div + ops.sqrt, f"{what}_A": ops.add}
                rows.append(row)
            bar.advance()
    return rows, refused


def _count(dyn: ap.Dynamics, quantity: str, refused: list[str]) -> ap.OpCount | None:
    """Return the operation count of a function; if the robot does not have it, add the reason to `refused`."""
    try:
        return getattr(dyn, quantity).count()
    except ModelError as error:
        if (reason := f"{quantity}: {str(error).splitlines()[0]}") not in refused:
            refused.append(reason)
        return None
