"""`appell campaign`: run the control loop under many schedules of faults, and list the properties that broke."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli import options
from appell.cli.options import MEASURE, new_app, option
from appell.cli.output import Printer, table, verdict
from appell.progress import Bar

if TYPE_CHECKING:
    from appell_lab.campaigns.control import Finding

MAX_LISTED = 20  # failed schedules that are printed


app = new_app()


@app.command(rich_help_panel=MEASURE, epilog="Example: [bold]appell campaign --schedules 200[/].")
def campaign(
    schedules: Annotated[int, option("Number of seeded schedules of faults.", min=1)] = 1000,
    first: Annotated[int, option("The first seed.")] = 0,
    json: options.Json = False,
) -> None:
    """Run the control loop under random faults and check that it always stops safely."""
    from appell_lab.campaigns.control import run_campaign, standard_setting

    findings: list[Finding] = []
    with Bar("breaking the loop", schedules, "schedules", delay=0.0) as bar:
        for finding in run_campaign(standard_setting(), range(first, first + schedules)):
            findings.append(finding)
            bar.advance()
    data = _summary(findings)
    Printer(json).answer(data, *_shown(data))
    if data["broken"]:
        raise typer.Exit(1)


def _summary(findings: list[Finding]) -> dict[str, Any]:
    """Return the injected faults, the final states, and the worst value of each bounded quantity with its bound."""
    from appell_lab.campaigns.control import MAX_PATH_DISTANCE_RAD, MAX_TORQUE_RATIO, STOP_TIME_S

    broken = [finding for finding in findings if finding.broken]
    return {
        "schedules": len(findings),
        "faults": dict(sorted(Counter(fault.kind for finding in findings for fault in finding.injections).items())),
        "states": dict(sorted(Counter(finding.state.name for finding in findings).items())),
        "longest_stop": {"measured": max(x.stopping_time for x in findings), "bound": STOP_TIME_S, "unit": "s"},
        "farthest_from_the_way": {
            "measured": max(x.path_distance for x in findings),
            "bound": MAX_PATH_DISTANCE_RAD,
            "unit": "rad",
        },
        "torque_over_its_limit": {
            "measured": max(x.torque_ratio for x in findings),
            "bound": MAX_TORQUE_RATIO,
            "unit": "1",
        },
        "ticks": sum(x.ticks for x in findings),
        "broken": [
            {"seed": x.seed, "properties": x.broken, "injections": [asdict(fault) for fault in x.injections]}
            for x in broken
        ],
    }


def _shown(data: dict[str, Any]) -> list[Any]:
    bounded = {
        "longest_stop": ("longest stop, s", ".3f", ""),
        "farthest_from_the_way": ("largest distance from the path, rad", ".3f", ""),
        "torque_over_its_limit": ("largest torque over its limit", ".4f", ", including amplifier error"),
    }
    rows = [{"what": "schedules", "measured": str(data["schedules"])}]
    for key, title in (("faults", "faults injected"), ("states", "states at the end")):
        rows.append({"what": title, "measured": ", ".join(f"{name} {n}" for name, n in data[key].items())})
    for key, (title, form, remark) in bounded.items():
        quantity = data[key]
        bound = f"{quantity['bound']:g}{remark}"
        rows.append({"what": title, "measured": format(quantity["measured"], form), "bound": bound})
    rows.append({"what": "ticks", "measured": f"{data['ticks']:,}"})
    heads = {"what": "", "measured": ("measured", ""), "bound": ("bound", "")}
    broken = data["broken"]
    lines = [
        f"seed {each['seed']}: {', '.join(each['properties'])} {each['injections']}" for each in broken[:MAX_LISTED]
    ]
    closing = f"{len(broken)} schedules failed" if broken else "every property held in every schedule"
    return [table(rows, heads), *lines, verdict(closing, not broken)]
