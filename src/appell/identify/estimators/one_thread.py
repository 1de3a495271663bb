"""Keeping BLAS to one thread while many small matrices are handled.

The libraries behind NumPy start a thread a core for every product, however small. Where thousands of small ones
are made in a row, or where we have threads of our own, they spend their time waiting for each other.
threadpoolctl stops that; without it all results are the same, only slower."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
TAMED = find_spec("threadpoolctl") is not None  # whether BLAS can be kept to one thread


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS uses one thread."""
    if not TAMED:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def calm(function: F) -> F:
    """The function, run with one BLAS thread."""

    @wraps(function)
    def run(*arguments, **options):
        with one_blas_thread():
            return function(*arguments, **options)

    return run  # type: ignore[return-value]
