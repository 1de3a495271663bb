"""`appell calibrate ROBOT POSES`: calibrate the geometry of a robot from measurements, or plan the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import appell as ap
from appell.cli import options
from appell.cli.input import PICTURES, RECORDS, check_target, numbers_if_given, pairs, read_tree
from appell.cli.options import IDENTIFY, LOG, OUTPUT, SOLVER, argument, complete_frame, entries_of, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError
from appell.files import write_text

GEOMETRY = "Geometry and measurement"

app = new_app()


@app.command(
    rich_help_panel=IDENTIFY,
    epilog="Examples: [bold]appell calibrate puma --plan 40 --output plan.csv[/], and after the measurement "
    "[bold]appell calibrate arm.urdf poses.csv --output calibrated.urdf[/].",
)
def calibrate(
    robot: options.RobotName,
    poses: Annotated[
        Path | None,
        argument(
            "Measurements, one row per pose: columns q_<coordinate>, and x, y, z, then qx, qy, qz, qw for poses; or "
            "distance; or height. A .csv, .npz or .parquet file."
        ),
    ] = None,
    frame: Annotated[
        str | None,
        option("Frame that carries the target; by default 'tool' or the last link.", GEOMETRY, complete=complete_frame),
    ] = None,
    measure: Annotated[
        str,
        option(
            "What is measured: position or pose of the target, its distance from a point, or its height above a plane.",
            GEOMETRY,
            complete=entries_of("appell.identify.calibration.geometry:MEASURES"),
        ),
    ] = "position",
    gears: Annotated[bool, option("Estimate gear ratios as well.", GEOMETRY, "--gears")] = False,
    known: Annotated[
        list[str] | None,
        option(
            "Parameter, joint, base, tool or kind that is not estimated: elbow.x, tool, rx. May be repeated.", GEOMETRY
        ),
    ] = None,
    tool: Annotated[
        str | None, option("Position of the target in the frame, x,y,z in m; 0,0,0 by default.", GEOMETRY)
    ] = None,
    plan: Annotated[int | None, option("Choose this number of poses to measure.", "Plan")] = None,
    candidates: Annotated[int, option("Number of random configurations to choose from.", "Plan")] = 1000,
    margin: Annotated[float, option("Fraction of each joint's range kept free at both ends.", "Plan")] = 0.05,
    seed: Annotated[int, option("Seed of the random configurations.", "Plan")] = 0,
    units: Annotated[
        list[str] | None, option("Units that are not SI: q=deg, position=mm, distance=mm. May be repeated.", LOG)
    ] = None,
    columns: Annotated[
        list[str] | None, option("Titles in the file: 'q=pos_{}', or distance=cable. May be repeated.", LOG)
    ] = None,
    sigma: Annotated[
        str | None,
        option("Standard deviation of lengths, m, and for poses of orientations, rad; estimated by default.", SOLVER),
    ] = None,
    robust: Annotated[bool, option("Reduce the weight of outliers.", SOLVER, "--robust")] = False,
    tolerance: Annotated[
        float | None,
        option("Largest rms error after calibration, m; by default 1 % of the spread of the tool positions.", SOLVER),
    ] = None,
    report: Annotated[Path | None, option("Write a report to this .md file.", OUTPUT)] = None,
    output: Annotated[
        Path | None,
        option(
            "Write the calibrated robot to this .urdf or .toml file, or a plan to this .csv, .npz or .parquet file.",
            OUTPUT,
            "--output",
            "-o",
        ),
    ] = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Calibrate the geometry of a robot: joint placements, offsets and gear ratios.

    Without measurements, --plan chooses the poses that determine the parameters best.
    """
    if (plan is None) == (poses is None):
        problem = "neither measurements nor --plan are given." if plan is None else "measurements and --plan are given."
        raise ArgumentError(problem, expected="a file with measurements, or --plan with the number of poses to choose")
    check_target(output, force, RECORDS if poses is None else (".urdf", ".toml"))
    check_target(report, force, (".md",))
    check_target(plot, force, PICTURES)
    ident, out = ap.identify, Printer(json)
    target = numbers_if_given(tool, "--tool", 3)
    geometry = ident.geometric_parameters(
        read_tree(robot), frame, measure=measure, gears=gears, known=known or (), tool=target
    )
    if poses is None:
        assert plan is not None
        _plan(out, ident.plan_poses(geometry, plan, candidates=candidates, margin=margin, seed=seed), output)
        return
    q, measured = ident.read_poses(poses, geometry, pairs(units, "--units"), pairs(columns, "--columns"))
    deviations = numbers_if_given(sigma, "--sigma", 2 if measure == "pose" else 1)
    fit = ident.calibrate(geometry, q, measured, sigma=deviations, robust=robust, tolerance=tolerance)
    shown: list[Any] = []
    for title, heading, rows in fit.tables():
        heads = {str(k): (head, "") if k else head for k, head in enumerate(heading)}
        shown.append(table([dict(zip(heads, row, strict=True)) for row in rows], heads, title))
    out.answer({"robot": geometry.robot.name} | fit.facts(), *shown, *fit.remarks)
    if report is not None:
        write_text(report, fit.to_markdown())
        out.say(f"wrote {report}")
    if plot is not None:
        fit.plot().savefig(plot)
        out.say(f"wrote {plot}")
    if output is not None:
        fit.export(output, overwrite=True)
        out.say(f"wrote {output}")


def _plan(out: Printer, plan: Any, output: Path | None) -> None:
    """Print and write a plan."""
    data = {
        "robot": plan.geometry.robot.name,
        "poses": len(plan.q),
        "parameters": [plan.geometry.names[k] for k in plan.columns],
        "index": plan.index,
        "random_index": plan.random_index,
        "condition": plan.condition,
        "q": plan.q,
    }
    line = (
        f"{len(plan.q)} poses determine {len(plan.columns)} parameters: observability index {plan.index:.4g}, of "
        f"random poses {plan.random_index:.4g}, condition number {plan.condition:.4g}"
    )
    out.answer(data, line)
    if output is not None:
        plan.record().write(output, overwrite=True)
        out.say(f"wrote {output}")
