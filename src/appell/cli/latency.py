"""`appell latency`: how late this machine wakes a control loop."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.answers import table, tell
from appell.cli.options import MEASURE, Json

if TYPE_CHECKING:
    from appell.lab.bench.latency import Latency

PERCENTS = (0, 50, 99, 99.9, 100)
LONGEST = 50  # columns of a bar of the histogram
NARROW = 40  # columns that are not the bar's


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=MEASURE,
        epilog="Example: [bold]appell latency --ticks 20000[/]; as root, or with rtprio granted, it uses SCHED_FIFO.",
    )
    def latency(
        ticks: Annotated[int, typer.Option(help="How many ticks.")] = 5000,
        period: Annotated[float, typer.Option(help="Between two ticks, in seconds.")] = 1e-3,
        json: Json = False,
    ) -> None:
        """Histogram of a loop's wake-ups on this machine, with the PUMA's control step in every tick."""
        from appell.display.bar import Bar
        from appell.lab.bench.figure import seconds_text
        from appell.lab.bench.latency import measure_latency

        with Bar(f"ticks of {seconds_text(period)}", patience=0.0):  # which draws by itself: ticks must not wait for it
            found = measure_latency(ticks, period)
        answer = _answer(found, ticks)
        if json:
            tell(answer)
        else:
            _show(answer)


def _answer(found: Latency, ticks: int) -> dict[str, Any]:
    """How many ticks came how late, the control steps, and under which conditions."""
    from appell.lab.bench.latency import EDGES

    return {
        "ticks": ticks,
        "period": found.period,
        "histogram": [
            {"later_than": edge, "ticks": count} for edge, count in zip(EDGES, found.histogram(), strict=False)
        ],
        "lateness": {f"{percent:g} %": max(found.percentile(percent), 0.0) for percent in PERCENTS},
        "control_step": {"median": sorted(found.step)[len(found.step) // 2], "longest": found.step.max()},
        "missed": found.misses,
        "skipped": found.skipped,
        "scheduling": found.privileges.scheduling,
        "memory": found.privileges.memory,
        "system": f"{platform.system()} {platform.release()}",
        "units": {"period, later_than, lateness, control_step": "s"},
    }


def _show(answer: dict[str, Any]) -> None:
    from appell.cli.screen import say, screen
    from appell.lab.bench.figure import seconds_text

    console = screen()
    most = max(row["ticks"] for row in answer["histogram"])
    longest = max(5, min(LONGEST, console.width - NARROW))
    rows = [
        {
            "edge": seconds_text(row["later_than"]) if row["later_than"] else "0",
            "ticks": row["ticks"],
            "bar": "█" * round(longest * row["ticks"] / most) or ("▏" if row["ticks"] else ""),
        }
        for row in answer["histogram"]
    ]
    console.print(
        table(rows, {"edge": ("later than", ""), "ticks": ("ticks", ""), "bar": ""}, "Wake-ups after their time")
    )
    say(console, "lateness  " + "   ".join(f"{name} {seconds_text(x)}" for name, x in answer["lateness"].items()))
    step = answer["control_step"]
    say(
        console,
        f"control step  median {seconds_text(step['median'])}, longest {seconds_text(step['longest'])}   "
        f"deadlines missed {answer['missed']} of {answer['ticks']}, ticks skipped {answer['skipped']}",
    )
    say(console, f"{answer['scheduling']}; {answer['memory']}; {answer['system']}")
