"""`appell control campaign`: schedules of faults with a bar, and a table of what came of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from appell.cli.answers import table, tell
from appell.cli.screen import say, screen
from appell.display.bar import Bar
from appell.lab.campaigns.control import AMPLIFIERS, STOP_TIME, STRAY, Finding, run_campaign, standard_setting

LISTED = 20  # broken schedules that are shown


def run_and_show(schedules: int, first: int, json: bool) -> int:
    """How many schedules broke a property."""
    findings: list[Finding] = []
    with Bar("breaking the loop", schedules, "schedules", patience=0.0) as bar:
        for finding in run_campaign(standard_setting(), range(first, first + schedules)):
            findings.append(finding)
            bar.advance()
    answer = _answer(findings)
    if json:
        tell(answer)
    else:
        _show(answer)
    return len(answer["broken"])


def _answer(findings: list[Finding]) -> dict[str, Any]:
    """What was injected, where it ended, and the worst of each bounded quantity beside its bound."""
    broken = [finding for finding in findings if finding.broken]
    return {
        "schedules": len(findings),
        "faults": dict(sorted(Counter(fault.kind for finding in findings for fault in finding.injections).items())),
        "states": dict(sorted(Counter(finding.state.name for finding in findings).items())),
        "longest_stop": {"measured": max(x.stopping_time for x in findings), "bound": STOP_TIME, "unit": "s"},
        "farthest_from_the_way": {"measured": max(x.stray for x in findings), "bound": STRAY, "unit": "rad"},
        "torque_over_its_limit": {
            "measured": max(x.torque_ratio for x in findings),
            "bound": AMPLIFIERS,
            "unit": "1",
        },
        "ticks": sum(x.ticks for x in findings),
        "broken": [
            {"seed": x.seed, "properties": x.broken, "injections": [asdict(fault) for fault in x.injections]}
            for x in broken
        ],
    }


def _show(answer: dict[str, Any]) -> None:
    bounded = {
        "longest_stop": ("longest stop, s", ".3f", ""),
        "farthest_from_the_way": ("farthest from the way, rad", ".3f", ""),
        "torque_over_its_limit": ("largest torque over its limit", ".4f", ", amplifier error included"),
    }
    rows = [{"what": "schedules", "measured": str(answer["schedules"])}]
    for key, title in (("faults", "faults injected"), ("states", "states at the end")):
        rows.append({"what": title, "measured": ", ".join(f"{name} {n}" for name, n in answer[key].items())})
    for key, (title, form, remark) in bounded.items():
        found = answer[key]
        bound = f"{found['bound']:g}{remark}"
        rows.append({"what": title, "measured": format(found["measured"], form), "bound": bound})
    rows.append({"what": "ticks", "measured": f"{answer['ticks']:,}"})
    console = screen()
    console.print(table(rows, {"what": "", "measured": ("measured", ""), "bound": ("bound", "")}))
    for each in answer["broken"][:LISTED]:
        say(console, f"seed {each['seed']}: {', '.join(each['properties'])} {each['injections']}")
    broken = len(answer["broken"])
    verdict = f"{broken} schedules failed" if broken else "every property held in every schedule"
    console.print(verdict, style="red" if broken else "green", highlight=False)
