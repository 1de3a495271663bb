"""`appell sweep STUDY.py`: a study over its table, on cores or a cluster; and what a store holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.answers import table, tell
from appell.cli.options import SIMULATE, Json
from appell.errors import ArgumentError, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

    from appell.sweeps import SweepResults

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it
LISTED = 5  # failures that are shown
MOST_ENTRIES = 12  # of an array that are shown one by one
PARTS = {"least": 0.0, "low": 0.05, "median": 0.5, "high": 0.95, "most": 1.0}
HEADINGS = {"low": "5 %", "high": "95 %"}


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=SIMULATE,
        epilog="Example: [bold]appell sweep study.py --out results.zarr --workers 4[/], where study.py defines "
        "[bold]study[/], a function, and [bold]table[/], a number of jobs, columns by name or ap.grid(...); "
        "[bold]appell sweep --show results.zarr[/] shows what came of it.",
    )
    def sweep(
        study: Annotated[Path | None, typer.Argument(help="A Python file that defines study and table.")] = None,
        out: Annotated[
            Path | None, typer.Option("--output", "--out", "-o", help="The store: made, or gone on with.")
        ] = None,
        workers: Annotated[int, typer.Option(help="Processes on this machine; 1 is this one alone.")] = 1,
        cluster: Annotated[str, typer.Option(help="The address of a Dask scheduler, tcp://host:8786.")] = "",
        seed: Annotated[int, typer.Option(help="Of the sweep, from which every job has its own.")] = 0,
        first: Annotated[int | None, typer.Option(help="The first so many jobs of the table only.")] = None,
        retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try again what failed before.")] = False,
        accept_study: Annotated[
            bool, typer.Option("--accept-study", help="Go on although the study has changed since.")
        ] = False,
        timeout: Annotated[float, typer.Option(help="Seconds to wait for the scheduler and its workers.")] = 10.0,
        show: Annotated[Path | None, typer.Option(help="Show what a store holds, and do nothing.")] = None,
        json: Json = False,
    ) -> None:
        """Run a study over a table of parameters; the same command goes on after a crash."""
        from appell.cli.screen import say, screen
        from appell.sweeps import open as open_store
        from appell.sweeps import sweep as run

        console = screen(aside=json)

        def told(results: SweepResults) -> None:
            answer = _answer(results)
            if json:
                tell(answer)
            else:
                _show(console, answer)

        if show is not None:
            told(open_store(show))
            return
        if study is None or out is None:
            raise ArgumentError("appell sweep was given no study or no --out.", expected="STUDY.py --out results.zarr")
        function, jobs = _read(study)
        try:
            results = run(
                function,
                jobs if first is None else _first(jobs, first),
                out,
                cluster=cluster or None,
                workers=workers,
                seed=seed,
                retry_failed=retry_failed,
                accept_study=accept_study,
                timeout=timeout,
            )
        except KeyboardInterrupt:
            say(console, f"interrupted; what was done is stored in {out}, and the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None
        told(results)


def _read(path: Path) -> tuple[Any, Any]:
    """The study and the table of a file; other files of its folder can be imported by it."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ArgumentError(
            f"'{path}' is no Python file that can be read.", expected="a .py that defines study and table"
        )
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    for name in ("study", "table"):
        if not hasattr(module, name):
            known = [other for other in vars(module) if not other.startswith("_")]
            raise ArgumentError(unknown_name("name", name, known, f"'{path}'"))
    return module.study, module.table


def _first(jobs: Any, count: int) -> Any:
    if count < 1 or not isinstance(jobs, (int, Mapping)):
        raise ArgumentError(f"--first is {count}.", expected="one job at least, of a number of jobs or of columns")
    return min(jobs, count) if isinstance(jobs, int) else {name: column[:count] for name, column in jobs.items()}


def _answer(results: SweepResults) -> dict[str, Any]:
    """How far it came, the spread of every number that jobs gave, and what failed."""
    import numpy as np

    rows = []
    for name in results if results.done.any() else ():
        values = results[name][results.done]
        single = values[0].size <= MOST_ENTRIES
        for index in np.ndindex(values.shape[1:]) if single else [()]:
            column = np.abs(values[:, *index]) if values.dtype.kind == "c" else values[:, *index]
            known = column[np.isfinite(column)].astype(float)
            shares = np.quantile(known, list(PARTS.values())) if len(known) else [None] * len(PARTS)
            title = f"{name}[{', '.join(map(str, index))}]" if index else name if single else f"{name}, all"
            rows.append({"result": title} | dict(zip(PARTS, shares, strict=True)))
    failures = [
        {"job": failure.number, "parameters": failure.parameters, "error": failure.error.splitlines()[0]}
        for failure in results.failures
    ]
    return {
        "study": results.study,
        "told": results.told,
        "jobs": len(results.done),
        "done": int(results.done.sum()),
        "results": rows,
        "failures": failures,
        "units": "those of the study",
    }


def _show(console: Console, answer: dict[str, Any]) -> None:
    from appell.cli.screen import say

    say(console, f"{answer['study']}: {answer['told']}")
    if rows := answer["results"]:
        console.print(table(rows, {"result": "result"} | {key: (HEADINGS.get(key, key), ".6g") for key in PARTS}))
    failures = answer["failures"]
    for failure in failures[:LISTED]:
        given = ", ".join(f"{name}={value!r}" for name, value in failure["parameters"].items())
        say(console, f"job {failure['job']} ({given}) failed: {failure['error']}")
    if len(failures) > LISTED:
        say(console, f"and {len(failures) - LISTED} more")
