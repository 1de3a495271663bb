"""`appell reproduce`: tables and figures of the papers beside our own."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from appell.cli import options
from appell.cli.options import MEASURE, among, argument, new_app, option
from appell.cli.output import Printer
from appell.errors import ArgumentError, unknown_name
from appell.progress import counted
from appell_lab.papers import PAPERS, SECTIONS

if TYPE_CHECKING:
    from appell_lab.papers.shown import SectionRun

app = new_app()


@app.command(rich_help_panel=MEASURE, epilog="Example: [bold]appell reproduce dynamics --output figures[/].")
def reproduce(
    sections: Annotated[
        list[str] | None, argument(f"Any of {', '.join(SECTIONS)}; default: all.", complete=among(lambda: SECTIONS))
    ] = None,
    output: Annotated[Path, option("Folder for figures and index.html.")] = Path("out"),
    json: options.Json = False,
) -> None:
    """Compute the published results of the papers and show them beside the printed values."""
    from appell_lab.papers.closing import end_papers, end_section, measures_of
    from appell_lab.papers.index import write_index
    from appell_lab.papers.live_robots import write_live_pages
    from appell_lab.papers.page import Page
    from appell_lab.papers.run_files import check_folder, store_run, stored_runs

    chosen = sections or list(SECTIONS)
    for name in chosen:
        if name not in SECTIONS:
            raise ArgumentError(unknown_name("section", name, SECTIONS, "appell reproduce"))
    if output.exists() and not output.is_dir():
        raise ArgumentError(
            f"'{output}' is a file.", expected="a folder for the figures", hint="Pass another --output."
        )
    check_folder(output)
    out = Printer(json)
    page = Page(out.console, output)
    _introduce(page.console, chosen, output)
    runs: dict[str, SectionRun] = {}
    for k, name in enumerate(counted(chosen, unit="sections", delay=0.0), start=1):
        start = time.monotonic()
        page.title(f"{name}, {k} of {len(chosen)}: {SECTIONS[name].shows}")
        import_module(SECTIONS[name].module).run(page)
        end_section(page, name)
        runs[name] = store_run(page, name, time.monotonic() - start)
        index = write_index(
            output, stored_runs(output)[0]
        )  # after each section, so that an interrupted run has an index
    if papers := _papers(chosen):
        write_live_pages(output, papers)
        index = write_index(output, stored_runs(output)[0])
        page.console.rule("[bold]printed items and verdicts", align="left")
        end_papers(page.console, papers, measures_of(runs))
    _conclude(page.console, runs, output)
    for path in stored_runs(output)[1]:
        out.say(f"{path} was written by another version and is left out of the index; run its section again.")
    out.say(f"All tables and figures by paper: {index}")
    tallies = {name: vars(run.tally) | {"seconds": run.seconds} for name, run in runs.items()}
    out.answer({"sections": tallies, "index": index, "units": {"seconds": "s"}})  # the page has printed the rest


PARTS = ("tables", "agreed", "differed", "figures")


def _introduce(console: Console, chosen: list[str], output: Path) -> None:
    """Print what follows, how to read it, and the citations of the papers."""
    console.print(
        "[bold]Reproduced results of the papers.[/] Computed numbers are beside printed ones: [green]agrees[/] if a "
        "computed number rounds to the printed one, else [yellow]the difference[/], which a note explains. Figures go "
        f"to {output}/. All sections together take a few minutes.\n",
        highlight=False,
    )
    for paper in _papers(chosen):
        console.print(f"[bold]{paper}[/]")
        console.print(Padding(PAPERS[paper], (0, 2, 1, 2)), highlight=False)


def _papers(chosen: list[str]) -> list[str]:
    return [paper for paper in PAPERS if any(paper in SECTIONS[name].papers for name in chosen)]


def _conclude(console: Console, runs: dict[str, SectionRun], output: Path) -> None:
    """Print the totals of all sections."""
    console.rule("[bold]summary", align="left")
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    tallies = [run.tally for run in runs.values()]
    tables, agreed, differed, figures = (sum(getattr(x, part) for x in tallies) for part in PARTS)
    total = sum(run.seconds for run in runs.values())
    for heading, footer in (
        ("section", "total"),
        ("papers", ""),
        ("tables", str(tables)),
        ("digits agree", str(agreed)),
        ("differ", str(differed)),
        ("figures", str(figures)),
        ("seconds", f"{total:.0f}"),
    ):
        table.add_column(heading, footer, justify="left" if heading in ("section", "papers") else "right")
    for name, run in runs.items():
        counts = (getattr(run.tally, part) for part in PARTS)
        table.add_row(name, ", ".join(SECTIONS[name].papers), *map(str, counts), f"{run.seconds:.0f}")
    console.print(table)
    others = "; the notes above explain the others" if differed else ""
    reached = f"{agreed} of {agreed + differed} printed numbers agree to their last digit{others}. "
    console.print(
        f"{reached if agreed + differed else ''}{figures} figure{'s' * (figures != 1)} in {output}/.", highlight=False
    )
