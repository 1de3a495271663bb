"""`appell identify RECORD`: parameters from a record, judged on the part of it that was held out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from appell.cli import completions
from appell.cli.answers import table, tell
from appell.cli.options import IDENTIFY, Base, Force, Json, Physical
from appell.cli.reading import read_system, told
from appell.cli.screen import say, screen
from appell.cli.targets import check_target
from appell.describe.files import write_text
from appell.display.bar import Bar
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System

if TYPE_CHECKING:
    from appell.identify.verdict import Assessment

KINDS = {"ridge": "Ridge", "robust": "Robust", "total": "TotalLeastSquares", "consistent": "PhysicallyConsistent"}
METHODS = ("qr", "svd", "pinv", *KINDS)
NEGATIVE = ("refuse", "zero")
FAILED = 3  # exit code


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=IDENTIFY,
        epilog="Example: [bold]appell identify log.csv --robot puma --friction --report r.html --export found.toml[/].",
    )
    def identify(
        log: Annotated[
            Path, typer.Argument(help="Record, .csv, .npz, .parquet or .log: t, q_<coordinate>, tau_<actuator>.")
        ],
        robot: Annotated[
            str,
            typer.Option(
                help="Robot or mechanism: a zoo name, or a .urdf, .xml (MJCF), .sdf or .toml file.",
                autocompletion=completions.robots,
            ),
        ],
        method: Annotated[
            list[str] | None,
            typer.Option(
                help=f"Any of {', '.join(METHODS)}; repeat it to compare. Without it: qr, or consistent with --export.",
                autocompletion=completions.estimators,
            ),
        ] = None,
        friction: Annotated[
            bool, typer.Option("--friction", help="Coulomb, viscous and offset of every actuator.")
        ] = False,
        rotor: Annotated[bool, typer.Option("--rotor", help="The rotor inertia of every actuator.")] = False,
        width: Annotated[
            float | None,
            typer.Option(help="Speed within which Coulomb friction changes sign, rad/s or m/s; found if not given."),
        ] = None,
        dead_zone: Annotated[
            float | None,
            typer.Option(
                help="Leave out samples of an actuator slower than this, rad/s or m/s; if not given, 5 % of its top."
            ),
        ] = None,
        band: Annotated[
            float | None, typer.Option(help="Of the low-pass, in Hz; from the spectrum if not given.")
        ] = None,
        held_out: Annotated[float, typer.Option(help="Share of the log, its end, to judge by: 0 to 1.")] = 0.3,
        judge_on: Annotated[Path | None, typer.Option(help="Another log to judge by instead.")] = None,
        units: Annotated[
            list[str] | None,
            typer.Option(help="Units of the log where they are not SI, such as q=deg, tau=mNm; may be repeated."),
        ] = None,
        columns: Annotated[
            list[str] | None, typer.Option(help="Where names do not tell: 'q=pos_{}', or q_joint1=shoulder_pos.")
        ] = None,
        hold: Annotated[bool, typer.Option("--hold", help="tau is a command that is held for one sample.")] = False,
        report: Annotated[Path | None, typer.Option(help="Report to write: .md or .html.")] = None,
        export: Annotated[
            Path | None, typer.Option(help="Robot to write, as it was identified: .toml or .urdf.")
        ] = None,
        negative: Annotated[
            str,
            typer.Option(
                help="Friction or rotors found below zero: refuse, to export nothing, or zero, to take them as zero."
            ),
        ] = "refuse",
        force_export: Annotated[
            bool, typer.Option("--force-export", help="Export even if the verdict is FAIL.")
        ] = False,
        meaning: Annotated[bool, typer.Option("--meaning", help="Print what the base parameters mean.")] = False,
        base: Base = "fixed",
        physical: Physical = True,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """Identify a robot or mechanism from a record of its own motion.

        The verdict is FAIL, and the exit code 3, if held-out torques are not predicted or cannot be this system's.
        """
        from appell import identify as ident
        from appell.identify.report import facts

        check_target(report, force, (".md", ".html"))
        check_target(export, force, (".toml", ".urdf"))
        chosen = method or (["consistent"] if export else ["qr"])
        for name in chosen:
            if name not in METHODS:
                raise ArgumentError(unknown_name("method", name, METHODS, "appell identify"))
        if negative not in NEGATIVE:
            raise ArgumentError(f"--negative is '{negative}'.", expected=" or ".join(NEGATIVE))
        console = screen(aside=json)
        system = read_system(robot, base, physical)
        names = {"columns": _pairs("columns", columns), "units": _pairs("units", units)}
        sought = ident.seek(system, friction=friction, rotor=rotor, width=width)
        with Bar("reading", len(chosen) + 2, "steps", patience=0.0) as bar:
            record = _measured(log, system, **names)
            fit_on = data = ident.process(record, band=band, hold=hold)
            judged, options = record, {"band": data.about["band"], "hold": hold, "smooth": True}
            if judge_on is not None:
                judged = _measured(judge_on, system, **names)
            rest = ident.process(judged, **options)
            if judge_on is None:
                fit_on, rest = ident.split(data, held_out)[0], ident.split(rest, held_out)[1]
            fits = []
            zone = ident.dead_zones(sought, fit_on) if dead_zone is None else dead_zone
            for name in chosen:
                bar.advance()
                bar.say(f"fitting: {name}")
                fits.append(_estimator(name, sought, zone).fit_record(fit_on))
            bar.advance()
            bar.say("judging")
            verdict = ident.judge(fits, rest, remarks=data.about["remarks"])
        meant = verdict.best.estimator.base_.describe() if meaning else ""
        if json:
            tell({"robot": system.name} | facts(verdict) | ({"meaning": meant} if meaning else {}))
        else:
            _show(console, verdict)
            if meaning:
                say(console, meant)
        if report is not None:
            write_text(report, verdict.to_html() if report.suffix == ".html" else verdict.to_markdown())
            say(console, f"report  {report}")
        if export is not None and (verdict.passed or force_export):
            with told():
                ident.export(verdict, export, negative=negative, force=force_export, overwrite=True)
            say(console, f"robot   {export} ({verdict.best.title})")
        if not verdict.passed:
            say(console, f"verdict FAIL: {ident.why(verdict)}.")
            if export is not None and not force_export:
                say(console, f"{export} is not written; --force-export writes what was found.")
            raise typer.Exit(FAILED)


def _show(console: Console, verdict: Assessment) -> None:
    from appell.identify.report import paragraphs, tables

    for title, heading, rows in tables(verdict):
        heads = {str(k): (head, "") if k else head for k, head in enumerate(heading)}
        console.print(table([dict(zip(heads, row, strict=True)) for row in rows], heads, title))
    for text in paragraphs(verdict):
        console.print(text, highlight=False, markup=False)


def _measured(path: Path, system: System, columns: dict[str, str], units: dict[str, str]):
    from appell.motion import Record, measured

    if not system.is_flat:
        raise ArgumentError(
            f"{system.owner} has joints that are not of one axis; records are read for systems whose dq/dt is v.",
            hint="base='fixed', or arrays q, v, a and tau: identify.LeastSquares(system).fit(q, v, a, tau)",
        )
    patterns = {key: title for key, title in columns.items() if "{}" in title}
    exact = {key: title for key, title in columns.items() if key not in patterns}
    record = Record.read(path, columns=exact)
    if path.suffix == ".log":  # of a control loop: what came before its last motion was to find the arm's position
        from appell.control.loop.summary import last_motion

        record = record.part(last_motion(record))
    return measured(record, system.coordinate_names, system.actuator_names, patterns=patterns, units=units)


def _estimator(name: str, sought, dead_zone):
    from appell import identify as ident

    if name in KINDS:
        return getattr(ident, KINDS[name])(sought, dead_zone=dead_zone)
    return ident.LeastSquares(sought, solver=name, dead_zone=dead_zone)


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    for text in given or ():
        if "=" not in text:
            raise ArgumentError(f"--{option} {text} is not understood.", expected="name=value")
    return dict(text.split("=", 1) for text in given or ())
