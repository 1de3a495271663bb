"""All that is wrong with a description, gathered while it is read, so that one message can tell it.

A reader goes on after a flaw with a harmless value in place of the bad one (no motion in place of an unreadable
placement, no mass in place of an unreadable body), so that later checks find the other flaws and none that follow from
the first. After a hundred flaws it is enough, and reading ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from appell.errors import AppellError, gathered

T = TypeVar("T")
MOST = 100


class _EnoughError(Exception):
    """Raised by the last flaw that is taken, to end the reading."""


class Flaws:
    """What was found so far; `owner` is how the message calls the description. Leaving its context tells them all."""

    def __init__(self, owner: str):
        self.owner = owner
        self.found: list[AppellError] = []

    def add(self, error: AppellError) -> None:
        self.found += error.parts or (error,)
        if len(self.found) >= MOST:
            raise _EnoughError

    def tried(self, otherwise: T, read: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """What `read` returns, or `otherwise` and one flaw more."""
        try:
            return read(*arguments, **options)
        except AppellError as error:
            self.add(error)
            return otherwise

    def tell(self) -> None:
        """Raise an error with all of them, if there are any."""
        if self.found:
            raise gathered(self.found, self.owner, at_least=len(self.found) >= MOST)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or kind is _EnoughError:
            self.tell()
