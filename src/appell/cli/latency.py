"""`appell latency`: how late this machine wakes a control loop."""

from __future__ import annotations

import platform
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Example: [bold]appell latency --ticks 20000[/]; as root, or with rtprio granted, it uses SCHED_FIFO."
    )
    def latency(
        ticks: Annotated[int, typer.Option(help="How many ticks.")] = 5000,
        period: Annotated[float, typer.Option(help="Seconds between two ticks.")] = 1e-3,
    ) -> None:
        """Histogram of a loop's wake-ups on this machine, with the PUMA's control step in every tick."""
        from rich import box
        from rich.console import Console
        from rich.table import Table

        from appell.cli.screen import screen
        from appell.lab.bench.figure import seconds_text
        from appell.lab.bench.latency import EDGES, measure_latency

        with Console(stderr=True).status(f"{ticks} ticks of {seconds_text(period)}"):
            found = measure_latency(ticks, period)
        table = Table(
            box=box.SIMPLE_HEAD,
            caption_justify="left",
            title="[bold]Wake-ups after their time",
            title_justify="left",
            title_style="",
        )
        table.add_column("later than", justify="right")
        table.add_column("ticks", justify="right")
        table.add_column("")
        counts = found.histogram()
        for edge, count in zip(EDGES, counts, strict=False):
            bar = "█" * round(50 * count / counts.max()) or ("▏" if count else "")
            table.add_row(seconds_text(edge) if edge else "0", str(count), f"[blue]{bar}")
        console = screen()
        console.print(table)
        marks = [(f"{p:g} %", found.percentile(p)) for p in (0, 50, 99, 99.9, 100)]
        console.print(
            "lateness  " + "   ".join(f"{name} {seconds_text(max(x, 0.0))}" for name, x in marks), highlight=False
        )
        step = sorted(found.step.tolist())
        console.print(
            f"control step  median {seconds_text(step[len(step) // 2])}, longest {seconds_text(step[-1])}   "
            f"deadlines missed {found.misses} of {ticks}, ticks skipped {found.skipped}",
            highlight=False,
        )
        console.print(
            f"{found.privileges.scheduling}; {found.privileges.memory}; {platform.system()} {platform.release()}",
            highlight=False,
        )
