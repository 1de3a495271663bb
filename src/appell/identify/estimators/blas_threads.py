"""Limit BLAS to one thread while many small matrices are processed.

The BLAS libraries behind NumPy start one thread per core even for small products. In sequences of thousands of small
products, or together with our own threads, these threads mostly wait for each other. threadpoolctl limits them; without
that package the results are the same, but slower to compute."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
CAN_LIMIT_BLAS = find_spec("threadpoolctl") is not None


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread."""
    if not CAN_LIMIT_BLAS:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def limit_blas_threads(function: F) -> F:
    """Decorate a function so that it runs with one BLAS thread."""

    @wraps(function)
    def run(*arguments, **options):
        with one_blas_thread():
            return function(*arguments, **options)

    return run  # type: ignore[return-value]
