"""Names of appell and of its tests that are not public, collected in one module; update it when they are renamed.

The other modules of this folder use public names only (`ap.…`, `Function.fused`, `Function.tape`, the command line).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests"))


def command_line() -> Any:
    """Return the typer application behind the command `appell`."""
    from appell.cli.main import app

    return app


def reference_case(name: str) -> Any:
    """Return a constrained robot of tests/references/constraints.json."""
    from constrained_cases import constrained

    return constrained(name)


def numbers_of_formula(formula: Any) -> Iterator[Any]:
    """Yield everything that determines the results of a formula: numbers, texts and tuples of them.

    A formula is a tape (straight-line code: `nodes`) or a program (loops: `stages` of tapes on one frame of numbers).
    Names of tapes are left out, names and shapes of arguments and results are not.
    """
    yield tuple((array.name, tuple(array.shape)) for array in formula.inputs)
    yield tuple((array.name, tuple(array.shape)) for array in formula.outputs)
    yield tuple(formula.results)
    if hasattr(formula, "stages"):
        yield formula.size
        for stage in formula.stages:
            yield tuple(stage.order)
            for step in stage.steps:
                for windows in (step.reads, step.writes):
                    yield tuple((tuple(window.starts), window.width, window.stride) for window in windows)
                yield tuple(map(tuple, step.numbers))
                yield from numbers_of_formula(step.tape)
    else:
        yield tuple(tuple(node) for node in formula.nodes)
