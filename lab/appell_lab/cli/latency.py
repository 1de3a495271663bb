"""`appell latency`: how late this machine wakes a control loop."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Annotated, Any

from appell.cli import options
from appell.cli.options import MEASURE, new_app, option
from appell.cli.output import Printer, table

if TYPE_CHECKING:
    from appell_lab.bench.latency import Latency

PERCENTS = (0, 50, 99, 99.9, 100)
LONGEST = 50  # columns of a bar of the histogram
NARROW = 40  # columns that are not the bar's


app = new_app()


@app.command(
    rich_help_panel=MEASURE,
    epilog="Example: [bold]appell latency --ticks 20000[/]; as root, or with rtprio granted, it uses SCHED_FIFO.",
)
def latency(
    ticks: Annotated[int, option("How many ticks.")] = 5000,
    period: Annotated[float, option("Between two ticks, in seconds.")] = 1e-3,
    json: options.Json = False,
) -> None:
    """Histogram of a loop's wake-ups on this machine, with the PUMA's control step in every tick."""
    from appell.progress import Bar
    from appell_lab.bench.figure import seconds_text
    from appell_lab.bench.latency import measure_latency

    with Bar(f"ticks of {seconds_text(period)}", delay=0.0):  # which draws by itself: ticks must not wait for it
        found = measure_latency(ticks, period)
    out, data = Printer(json), _summary(found, ticks)
    out.answer(data, *_shown(data, out.console.width))


def _summary(found: Latency, ticks: int) -> dict[str, Any]:
    """Return the histogram of lateness, the control steps, and the conditions."""
    from appell_lab.bench.latency import EDGES

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


def _shown(data: dict[str, Any], width: int) -> list[Any]:
    from appell_lab.bench.figure import seconds_text

    most = max(row["ticks"] for row in data["histogram"])
    longest = max(5, min(LONGEST, width - NARROW))
    rows = [
        {
            "edge": seconds_text(row["later_than"]) if row["later_than"] else "0",
            "ticks": row["ticks"],
            "bar": "█" * round(longest * row["ticks"] / most) or ("▏" if row["ticks"] else ""),
        }
        for row in data["histogram"]
    ]
    step = data["control_step"]
    return [
        table(rows, {"edge": ("later than", ""), "ticks": ("ticks", ""), "bar": ""}, "Wake-ups after their time"),
        "lateness  " + "   ".join(f"{name} {seconds_text(x)}" for name, x in data["lateness"].items()),
        f"control step  median {seconds_text(step['median'])}, longest {seconds_text(step['longest'])}   "
        f"deadlines missed {data['missed']} of {data['ticks']}, ticks skipped {data['skipped']}",
        f"{data['scheduling']}; {data['memory']}; {data['system']}",
    ]
