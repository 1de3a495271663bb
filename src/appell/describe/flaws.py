"""All that is wrong with a description, gathered while it is read, so that one message can tell it.

A reader goes on after a flaw with a harmless value in place of the bad one (no motion in place of an unreadable
placement, no mass in place of an unreadable body), so that later checks find the other flaws and none that follow from
the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from appell.errors import AppellError, gathered

T = TypeVar("T")


class Flaws:
    """What was found so far; `owner` is how the message calls the description."""

    def __init__(self, owner: str):
        self.owner = owner
        self.found: list[AppellError] = []

    def add(self, error: AppellError) -> None:
        self.found += error.parts or (error,)

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
            raise gathered(self.found, self.owner)
