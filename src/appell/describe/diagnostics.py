"""Errors and warnings of a description, collected while it is read, so that one message reports all of them.

A reader continues after an error with a neutral value in place of the invalid one: the identity for an unreadable
placement, no mass for an unreadable body. Later checks then find independent errors, and none that merely follow from
the first. Reading stops after `MAX_ERRORS` errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar

from appell.errors import MAX_LISTED, AppellError, ModelWarning, gathered

T = TypeVar("T")
MAX_ERRORS = 100


class _TooManyErrors(Exception):  # noqa: N818
    """Raised by the last error that is collected, to stop reading."""


class ErrorCollector:
    """The errors found so far in one description.

    `owner` is what the message calls the description. Leaving the context raises all collected errors as one.
    """

    def __init__(self, owner: str):
        self.owner = owner
        self.collected: list[AppellError] = []

    def add(self, error: AppellError) -> None:
        """Collect an error, or the parts of a combined one that are new; stop reading if there are too many."""
        self.collected += [part for part in error.parts or (error,) if part not in self.collected]
        if len(self.collected) >= MAX_ERRORS:
            raise _TooManyErrors

    def attempt(self, default: T, read: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Return what `read` returns; if it raises an `AppellError`, collect that and return `default`."""
        try:
            return read(*arguments, **options)
        except AppellError as error:
            self.add(error)
            return default

    def raise_collected(self) -> None:
        """Raise one error that lists all collected ones, if there are any."""
        if self.collected:
            raise gathered(self.collected, self.owner, at_least=len(self.collected) >= MAX_ERRORS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or kind is _TooManyErrors:
            self.raise_collected()


def warn_ignored(notes: list[str], source: str) -> None:
    """Issue one `ModelWarning` that lists everything in a description that was ignored or adjusted."""
    if notes:
        more = f" and {len(notes) - MAX_LISTED} more" if len(notes) > MAX_LISTED else ""
        where = f"\n  read from {source}" if source else ""
        warnings.warn(f"ignored or adjusted: {'; '.join(notes[:MAX_LISTED])}{more}.{where}", ModelWarning, stacklevel=2)
