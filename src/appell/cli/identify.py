"""`appell identify ROBOT RECORD`: identify the parameters of a robot from a record, and validate them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import appell as ap
from appell.cli import options
from appell.cli.input import check_target, pairs, read_record, read_system, warnings_printed
from appell.cli.options import IDENTIFY, LOG, OUTPUT, argument, complete_robot, entries_of, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, unknown_name
from appell.files import write_text
from appell.progress import Bar

if TYPE_CHECKING:
    from appell.model.system import System

KINDS = {"ridge": "Ridge", "robust": "Robust", "total": "TotalLeastSquares", "consistent": "PhysicallyConsistent"}
KINDS |= {"output-error": "OutputError"}
METHODS = ("qr", "svd", "pinv", *KINDS)
NEGATIVE = ("refuse", "zero")
EXIT_CODE_FAIL = 3  # if the verdict is FAIL
ESTIMATION = "Estimation"

app = new_app()


@app.command(
    rich_help_panel=IDENTIFY,
    epilog="Example: [bold]appell identify puma log.csv --friction --report r.html --export fit.toml[/].",
)
def identify(
    files: Annotated[
        list[str],
        argument(
            "Robot, unless --robot is given, and the record: a .csv, .npz, .parquet, .mcap, .db3 or .log file with "
            "columns t, q_<coordinate> and tau_<actuator>, or the folder of a ROS 2 bag.",
            metavar="[ROBOT] RECORD",
        ),
    ],
    robot: Annotated[
        str,
        option("Robot or mechanism: a zoo name or a .urdf, .xml (MJCF), .sdf or .toml file.", complete=complete_robot),
    ] = "",
    base: options.Base = "fixed",
    physical: options.Physical = True,
    units: Annotated[
        list[str] | None,
        option(
            "Units of the record that are not SI, such as q=deg, tau=mNm, q_elbow='4096 counts/rev' (encoder counts) "
            "or tau='0.105 Nm/A' (currents). May be repeated.",
            LOG,
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        option(
            "Column names of the record: 'q=pos_{}' for all joints, q_joint1=shoulder_pos, or t=sec+nanosec. May be "
            "repeated.",
            LOG,
        ),
    ] = None,
    topic: options.Topics = None,
    clock: options.Clock = "header",
    hold: Annotated[bool, option("Torques are commands that are held for one sample.", LOG, "--hold")] = False,
    band: Annotated[
        float | None,
        option("Cut-off frequency of the low-pass filter, in Hz; by default chosen from the spectrum.", LOG),
    ] = None,
    delay: Annotated[
        float | None,
        option("Time in s by which the torques are late relative to the positions; estimated by default.", LOG),
    ] = None,
    held_out: Annotated[
        float, option("Fraction of the record, at its end, that is held out for validation.", LOG)
    ] = 0.3,
    judge_on: Annotated[Path | None, option("Validate on this record instead.", LOG)] = None,
    method: Annotated[
        list[str] | None,
        option(
            f"Estimator: {', '.join(METHODS)}. Repeat the option to compare several. Default: qr; consistent with "
            "--export.",
            ESTIMATION,
            complete=entries_of("appell.cli.identify:METHODS"),
        ),
    ] = None,
    friction: Annotated[
        bool,
        option("Estimate Coulomb friction, viscous friction and offset of every actuator.", ESTIMATION, "--friction"),
    ] = False,
    rotor: Annotated[bool, option("Estimate the rotor inertia of every actuator.", ESTIMATION, "--rotor")] = False,
    width: Annotated[
        float | None,
        option("Speed within which Coulomb friction changes sign, rad/s or m/s; estimated by default.", ESTIMATION),
    ] = None,
    dead_zone: Annotated[
        float | None,
        option(
            "Ignore samples at which an actuator is slower than this, rad/s or m/s; by default three standard "
            "deviations of the noise of its speed, at most 5 % of its top speed and 0.05.",
            ESTIMATION,
        ),
    ] = None,
    report: Annotated[Path | None, option("Write a report to this .md or .html file.", OUTPUT)] = None,
    export: Annotated[Path | None, option("Write the identified robot to this .toml or .urdf file.", OUTPUT)] = None,
    negative: Annotated[
        str, option("Negative friction and rotor inertias in --export: refuse them, or set them to zero.", OUTPUT)
    ] = "refuse",
    force_export: Annotated[bool, option("Export even if the verdict is FAIL.", OUTPUT, "--force-export")] = False,
    payload: Annotated[
        str | None,
        option(
            "Estimate only the load that this body carries; the robot is as described, with its friction.", ESTIMATION
        ),
    ] = None,
    print_definitions: Annotated[
        bool, option("Print the definitions of the base parameters.", OUTPUT, "--meaning")
    ] = False,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Identify the dynamic parameters of a robot from a record of its motion.

    The verdict is FAIL, and the exit code 3, if the torques of new motions are not predicted within 5 % or are
    implausible.
    """
    from appell.identify.report import facts, paragraphs, tables

    check_target(report, force, (".md", ".html"))
    check_target(export, force, (".toml", ".urdf"))
    if len(files) != (1 if robot else 2):
        raise ArgumentError(
            f"appell identify got {len(files)} arguments: {' '.join(files)}.",
            expected="a robot and a record, or a record and --robot",
        )
    *robots, log = files
    if payload is not None and (method or friction or rotor or width is not None):
        raise ArgumentError(
            "--payload is given together with --method, --friction, --rotor or --width.",
            expected="only the load is estimated; friction and rotors are those of the description",
        )
    chosen = method or (["consistent"] if export else ["qr"])
    for name in chosen:
        if name not in METHODS:
            raise ArgumentError(unknown_name("method", name, METHODS, "appell identify"))
    if negative not in NEGATIVE:
        raise ArgumentError(f"--negative is '{negative}'.", expected=" or ".join(NEGATIVE))
    system, ident = read_system(robot or robots[0], base, physical), ap.identify
    names: dict[str, Any] = {"columns": pairs(columns, "--columns"), "units": pairs(units, "--units")}
    names |= {"topics": topic, "clock": clock}
    drives: dict[str, Any] = {"friction": friction, "rotor": rotor, "width": width}
    if payload is not None:  # as described
        drives = {"friction": True, "rotor": True, "width": "described"}
    parameter_set = ident.select_parameters(system, **drives)
    estimators = [_estimator(name, parameter_set) for name in chosen]
    if payload is not None:
        estimators = [ident.Payload(parameter_set, body=payload, physical=export is not None)]
    with Bar("reading", len(chosen) + 3, "steps", delay=0.0) as bar:
        record = _measured(Path(log), system, **names)
        validation = None if judge_on is None else _measured(judge_on, system, **names)

        def show_step(text: str) -> None:
            bar.advance()
            bar.say(text)

        verdict = ident.identify_record(
            estimators,
            record,
            validation=validation,
            held_out=held_out,
            band=band,
            hold=hold,
            delay=delay,
            dead_zone=dead_zone,
            progress=show_step,
        )
    definitions = {"meaning": verdict.best.estimator.base_.describe()} if print_definitions else {}
    shown: list[Any] = []
    for title, heading, rows in tables(verdict):
        heads = {str(k): (head, "") if k else head for k, head in enumerate(heading)}
        shown.append(table([dict(zip(heads, row, strict=True)) for row in rows], heads, title))
    load: dict[str, Any] = {}
    if payload is not None:
        load = {"payload": [row._asdict() for row in estimators[0].properties_]}
        heads = {"quantity": f"load on {payload}", "unit": "", "value": ("value", ".5g")}
        heads |= {"low": ("95 % from", ".5g"), "high": ("to", ".5g"), "note": ""}
        shown = [table(load["payload"], heads, "Estimated load; its inertia is about its centre of mass"), *shown[:2]]
    out = Printer(json)
    out.answer(
        load | {"robot": system.name} | facts(verdict) | definitions,
        *shown,
        *paragraphs(verdict),
        *definitions.values(),
    )
    if report is not None:
        write_text(report, verdict.to_html() if report.suffix.lower() == ".html" else verdict.to_markdown())
        out.say(f"wrote {report}")
    if export is not None and (verdict.passed or force_export):
        with warnings_printed():
            ident.export(verdict, export, negative=negative, force=force_export, overwrite=True)
        out.say(f"wrote {export} ({verdict.best.title})")
    if not verdict.passed:
        out.say(f"verdict FAIL: {ident.failure_reason(verdict)}.")
        if export is not None and not force_export:
            out.say(f"{export} was not written; use --force-export to write it anyway.")
        raise typer.Exit(EXIT_CODE_FAIL)


def _measured(
    path: Path,
    system: System,
    columns: dict[str, str],
    units: dict[str, str],
    topics: list[str] | None,
    clock: str,
) -> ap.Record:
    """Read and check a record of a system."""
    if not system.is_flat:
        raise ArgumentError(
            f"{system.owner} has joints with several axes, whose velocities are not the derivatives of coordinates.",
            hint="Use --base fixed, or fit arrays in Python: identify.LeastSquares(system).fit(q, v, a, tau).",
        )
    patterns = {key: title for key, title in columns.items() if "{}" in title}
    exact = {key: title for key, title in columns.items() if key not in patterns}
    record = read_record(path, columns=exact, topics=topics, clock=clock)
    if "fault" in record.columns:  # of a control loop, which calibrates the position before the last motion
        from appell.hardware.loop.summary import last_motion

        record = record.part(last_motion(record))
    names = system.coordinate_names, system.actuator_names
    with warnings_printed():
        return ap.motion.measured(record, *names, patterns=patterns, units=units, system=system)


def _estimator(name: str, parameter_set: Any) -> Any:
    if name in KINDS:
        return getattr(ap.identify, KINDS[name])(parameter_set)
    return ap.identify.LeastSquares(parameter_set, solver=name)
