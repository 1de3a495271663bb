"""`appell fuzz`: try to break appell with random input, for a given time."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli import options
from appell.cli.options import MEASURE, entries_of, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, check_number
from appell.progress import Bar

if TYPE_CHECKING:
    from appell_lab.fuzz.campaign import Bounds, TargetFindings
    from appell_lab.fuzz.target import Target

EXIT_FOUND = 3  # exit code if a problem was found
MAX_CASE_LENGTH = 2000  # characters of a case that are printed

app = new_app()


@app.command(
    rich_help_panel=MEASURE,
    epilog="Examples: [bold]appell fuzz --minutes 60 --output fuzz.json[/]; [bold]appell fuzz --only files "
    "--case 123456[/] repeats one case. Robots and motions are compared with Pinocchio: pip install pin.",
)
def fuzz(
    minutes: Annotated[float, option("Duration in minutes of all targets together.")] = 5.0,
    seed: Annotated[int, option("Seed of the first case; each later case has the next number.")] = 0,
    only: Annotated[
        str,
        option(
            "Comma-separated targets of --list; default: all.",
            complete=entries_of("appell_lab.fuzz.targets:TARGETS"),
        ),
    ] = "",
    cases: Annotated[int | None, option("Largest number of cases per target.")] = None,
    case: Annotated[int | None, option("Repeat the case of this seed; requires one target in --only.")] = None,
    output: options.Results = None,
    json: options.Json = False,
    list_: Annotated[bool, option("Only list the targets.", "", "--list")] = False,
) -> None:
    """Try to break appell: random robots, mutated files, motions, kills, attacks. Exit code 3: problem found."""
    from appell_lab.fuzz.campaign import Bounds
    from appell_lab.fuzz.targets import chosen

    check_number("--minutes", minutes, least=0.0, above=True)
    if cases is not None:
        check_number("--cases", cases, least=1)
    if min(seed, case or 0) < 0:
        raise ArgumentError("a seed is negative.", expected="an integer from 0")
    targets = chosen(only)
    if list_:
        _list(targets, Printer(json))
        return
    if case is not None and len(targets) != 1:
        raise ArgumentError(
            f"--case {case} needs one target, not {len(targets)}.", hint="Pass --only files --case 123456."
        )
    if case is not None:
        broken = _repeat(targets[0], case, Printer(json))
    else:
        broken = _run(targets, Bounds(60.0 * minutes, cases, seed), output, Printer(json))
    if broken:
        raise typer.Exit(EXIT_FOUND)


def _list(targets: Sequence[Target], out: Printer) -> None:
    rows = [
        {"target": target.name, "about": target.about, "seconds": target.seconds, "megabytes": target.megabytes}
        for target in targets
    ]
    limits = {"seconds": ("time limit per case, s", "g"), "megabytes": ("memory limit, MB", "")}
    out.answer(rows, table(rows, {"target": "target", "about": "cases", **limits}))


def _run(targets: Sequence[Target], bounds: Bounds, path: Path | None, out: Printer) -> bool:
    """Run a campaign with a progress bar; print its results and findings. Return whether there are findings."""
    from appell_lab.fuzz.campaign import content, run

    done: dict[str, int] = {}
    with Bar("fuzzing", None, "cases", delay=0.0) as bar:

        def update(findings: TargetFindings) -> None:
            done[findings.target] = findings.cases
            bar.label = findings.target + (f", {len(findings.broken)} findings" if findings.broken else "")
            bar(sum(done.values()))

        all_findings = run(targets, bounds, update, path)
    out.answer(content(all_findings) | {"units": {"seconds, slowest": "s of processor time"}}, *shown(all_findings))
    return any(findings.broken for findings in all_findings)


def shown(all_findings: Sequence[TargetFindings]) -> list[Any]:
    """Return the results of a campaign for the terminal."""
    rows = [
        {
            "target": findings.target,
            "cases": findings.cases,
            "seconds": findings.seconds,
            "slowest": findings.slowest[0],
            "figures": "\n".join(f"{name} {value:.3g}" for name, (value, _) in sorted(findings.figures.items())),
            "broken": len(findings.broken),
        }
        for findings in all_findings
    ]
    heads = {"target": "target", "cases": ("cases", ","), "seconds": ("processor, s", ".1f")}
    heads |= {"slowest": ("slowest, s", ".2f"), "figures": "worst figures", "broken": ("findings", "")}
    lines: list[Any] = [table(rows, heads)]
    for findings in all_findings:
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(findings.counts.items()))
        lines.append(f"{findings.target}: {counts or 'no counts'}")
    for finding in (finding for findings in all_findings for finding in findings.broken):
        lines += [f"\n{finding.target}, {finding.times} times: {finding.problem}", f"  repeat    {finding.command}"]
        lines.append(f"  smallest  {dumps(finding.case)[:MAX_CASE_LENGTH]}")
    return lines if any(findings.broken for findings in all_findings) else [*lines, "no findings"]


def _repeat(target: Target, seed: int, out: Printer) -> bool:
    """Run one case again; return whether it has a problem."""
    from appell_lab.fuzz.worker import Worker

    case = target.case(seed)
    with Worker(target) as worker:
        verdict, seconds = worker.check(case)
    data = {"target": target.name, "seed": seed, "case": case, "figures": verdict.figures}
    out.answer(
        data | {"problem": verdict.problem, "seconds": seconds, "units": {"seconds": "s of processor time"}},
        dumps(case)[:MAX_CASE_LENGTH],
        *(f"{name} {value:.6g}" for name, value in verdict.figures.items()),
        f"{verdict.problem or 'no problem'}, {seconds:.2f} s of processor time",
    )
    return bool(verdict.problem)
