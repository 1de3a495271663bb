"""`appell sweep STUDY.py`: run a study over its table on several cores or a cluster, or show a store."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import appell as ap
from appell.cli import options
from appell.cli.entry import INTERRUPTED
from appell.cli.options import OUTPUT, SIMULATE, argument, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, unknown_name

if TYPE_CHECKING:
    from appell.sweeps import SweepResults

MAX_FAILURES = 5  # in the output; --json has all
MAX_ENTRIES = 12  # of an array; larger arrays are summarised
QUANTILES = {"least": 0.0, "low": 0.05, "median": 0.5, "high": 0.95, "most": 1.0}
HEADINGS = {"low": "5 %", "high": "95 %"}

app = new_app()


@app.command(
    rich_help_panel=SIMULATE,
    epilog="Example: [bold]appell sweep study.py --out results.zarr --workers 4[/], where study.py defines "
    "[bold]study[/], a function, and [bold]table[/], a number of jobs, columns by name or ap.grid(...); "
    "[bold]appell sweep --show results.zarr[/] shows the results.",
)
def sweep(
    study: Annotated[
        Path | None, argument("Python file that defines the function study and the table of its parameters.")
    ] = None,
    out: Annotated[Path | None, option("Store to create or to continue.", OUTPUT, "--output", "--out", "-o")] = None,
    workers: Annotated[int, option("Number of worker processes on this machine; 1: run in this process.")] = 1,
    cluster: Annotated[str, option("Address of a Dask scheduler, tcp://host:8786.")] = "",
    seed: Annotated[int, option("Seed of the sweep. Each job derives its own seed from it.")] = 0,
    first: Annotated[int | None, option("Run only the first N jobs of the table.")] = None,
    retry_failed: Annotated[bool, option("Run failed jobs again.", "", "--retry-failed")] = False,
    accept_study: Annotated[
        bool, option("Continue a store although the code of the study has changed.", "", "--accept-study")
    ] = False,
    timeout: Annotated[float, option("Time to wait for the scheduler and its workers, in s.")] = 10.0,
    show: Annotated[Path | None, option("Show the results of this store without running anything.", OUTPUT)] = None,
    json: options.Json = False,
) -> None:
    """Run a study over a table of parameters; repeat the command to continue an interrupted study."""
    printer = Printer(json)
    if show is not None:
        _print(printer, ap.sweeps.open(show))
        return
    if study is None or out is None:
        raise ArgumentError(
            "a study or --out is missing.", expected="STUDY.py --out results.zarr, or --show results.zarr"
        )
    function, jobs = _read(study)
    try:
        results = ap.sweep(
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
        printer.say(f"interrupted; finished jobs are stored in {out}. Repeat the command to continue.")
        raise typer.Exit(INTERRUPTED) from None
    _print(printer, results)


def _read(path: Path) -> tuple[Any, Any]:
    """Return the study and the table of a Python file, which can import other files of its folder."""
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ArgumentError(
            f"'{path}' cannot be read as a Python file.", expected="a .py file that defines study and table"
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
        raise ArgumentError(
            f"--first is {count}.",
            expected="at least 1, with a table that is a number of jobs or a mapping of columns",
        )
    return min(jobs, count) if isinstance(jobs, int) else {name: column[:count] for name, column in jobs.items()}


def _print(out: Printer, results: SweepResults) -> None:
    """Print the progress of a sweep, the quantiles of every result, and the failures."""
    rows = []
    for name in results if results.done.any() else ():
        values = results[name][results.done]
        single = values[0].size <= MAX_ENTRIES
        for index in np.ndindex(values.shape[1:]) if single else [()]:
            column = np.abs(values[:, *index]) if values.dtype.kind == "c" else values[:, *index]
            known = column[np.isfinite(column)].astype(float)
            shares = np.quantile(known, list(QUANTILES.values())) if len(known) else [None] * len(QUANTILES)
            title = f"{name}[{', '.join(map(str, index))}]" if index else name if single else f"{name}, all"
            rows.append({"result": title} | dict(zip(QUANTILES, shares, strict=True)))
    failures: list[dict[str, Any]] = [
        {"job": failure.number, "parameters": failure.parameters, "error": failure.error.splitlines()[0]}
        for failure in results.failures
    ]
    data = {
        "study": results.study,
        "summary": results.summary,
        "jobs": len(results.done),
        "done": int(results.done.sum()),
        "results": rows,
        "failures": failures,
        "units": "those of the study",
    }
    heads = {"result": "result"} | {key: (HEADINGS.get(key, key), ".6g") for key in QUANTILES}
    shown: list[Any] = [f"{results.study}: {results.summary}", *([table(rows, heads)] if rows else [])]
    for failure in failures[:MAX_FAILURES]:
        given = ", ".join(f"{name}={value!r}" for name, value in failure["parameters"].items())
        shown.append(f"job {failure['job']} ({given}) failed: {failure['error']}")
    if len(failures) > MAX_FAILURES:
        shown.append(f"and {len(failures) - MAX_FAILURES} more failures")
    out.answer(data, *shown)
