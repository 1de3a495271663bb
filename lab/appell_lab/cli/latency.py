"""`appell latency`: measure how late this machine wakes a control loop."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Annotated, Any

from appell.cli import options
from appell.cli.options import MEASURE, new_app, option
from appell.cli.output import Printer, table

if TYPE_CHECKING:
    from appell_lab.bench.latency import Latency

PERCENTS = (0, 50, 99, 99.9, 100)
MAX_BAR_WIDTH = 50  # columns of the longest bar of the histogram
OTHER_COLUMNS = 40  # columns of the terminal beside the bars


app = new_app()


@app.command(
    rich_help_panel=MEASURE,
    epilog="Example: [bold]appell latency --ticks 20000[/]. As root, or with an rtprio limit, it uses SCHED_FIFO.",
)
def latency(
    ticks: Annotated[int, option("Number of ticks.")] = 5000,
    period: Annotated[float, option("Time between two ticks, in seconds.")] = 1e-3,
    json: options.Json = False,
) -> None:
    """Measure the wake-up latency of a control loop that computes the PUMA's control step in every tick."""
    from appell.progress import Bar
    from appell_lab.bench.figure import seconds_text
    from appell_lab.bench.latency import measure_latency

    with Bar(f"ticks of {seconds_text(period)}", delay=0.0):  # drawn by its own thread, so that ticks do not wait
        measured = measure_latency(ticks, period)
    out, data = Printer(json), _summary(measured, ticks)
    out.answer(data, *_shown(data, out.console.width))


def _summary(measured: Latency, ticks: int) -> dict[str, Any]:
    """Return the histogram of lateness, the control steps, and the conditions."""
    from appell_lab.bench.latency import BIN_EDGES_S

    return {
        "ticks": ticks,
        "period": measured.period,
        "histogram": [
            {"later_than": edge, "ticks": count} for edge, count in zip(BIN_EDGES_S, measured.histogram(), strict=False)
        ],
        "lateness": {f"{percent:g} %": max(measured.percentile(percent), 0.0) for percent in PERCENTS},
        "control_step": {"median": sorted(measured.step)[len(measured.step) // 2], "longest": measured.step.max()},
        "missed": measured.misses,
        "skipped": measured.skipped,
        "scheduling": measured.privileges.scheduling,
        "memory": measured.privileges.memory,
        "system": f"{platform.system()} {platform.release()}",
        "units": {"period, later_than, lateness, control_step": "s"},
    }


def _shown(data: dict[str, Any], width: int) -> list[Any]:
    from appell_lab.bench.figure import seconds_text

    most_ticks = max(row["ticks"] for row in data["histogram"])
    bar_width = max(5, min(MAX_BAR_WIDTH, width - OTHER_COLUMNS))
    rows = [
        {
            "edge": seconds_text(row["later_than"]) if row["later_than"] else "0",
            "ticks": row["ticks"],
            "bar": "█" * round(bar_width * row["ticks"] / most_ticks) or ("▏" if row["ticks"] else ""),
        }
        for row in data["histogram"]
    ]
    step = data["control_step"]
    return [
        table(rows, {"edge": ("later than", ""), "ticks": ("ticks", ""), "bar": ""}, "Lateness of wake-ups"),
        "lateness  " + "   ".join(f"{name} {seconds_text(x)}" for name, x in data["lateness"].items()),
        f"control step  median {seconds_text(step['median'])}, longest {seconds_text(step['longest'])}   "
        f"deadlines missed {data['missed']} of {data['ticks']}, ticks skipped {data['skipped']}",
        f"{data['scheduling']}; {data['memory']}; {data['system']}",
    ]
