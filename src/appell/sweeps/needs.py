"""Packages that only sweeps need, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from appell.errors import ArgumentError

EXTRAS = {"xarray": "results", "pandas": "results"}


def needed(package: str, who: str) -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module(package)
    except ImportError:
        raise ArgumentError(
            f"{who} needs the package {package}, which is not installed.",
            hint=f"pip install 'appell[{EXTRAS.get(package, 'clusters')}]'",
        ) from None
