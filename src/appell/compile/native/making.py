"""One lock around the making of functions, and a fork that waits for it.

Threads that ask for the same function at once get one and the same, made once. LLVM has locks of its own: a process
that is forked while another thread holds one has a child that waits for ever. So whoever makes machine code holds
`MAKING`, and a fork takes it first: before the lock of `logging`, which a fork takes as well and which whoever makes
something may want. What is registered last is called first, so `logging` is imported here, if it was not before.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

LOG = logging.getLogger("appell")
MAKING = threading.RLock()
Made = TypeVar("Made")


def held() -> bool:
    """Whether this thread is making something: others then cannot, and it must not wait for them."""
    return MAKING._is_owned()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=MAKING.acquire, after_in_parent=MAKING.release, after_in_child=MAKING.release)


class once(Generic[Made]):  # noqa: N801 - reads as a decorator
    """A property that is made under the lock when it is first asked for, and kept by its object."""

    def __init__(self, make: Callable[[Any], Made]):
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Made]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Made: ...

    def __get__(self, instance: object | None, owner: type) -> once[Made] | Made:
        if instance is None:
            return self
        kept = vars(instance)
        with MAKING:
            if self._name not in kept:
                kept[self._name] = self._make(instance)  # found there from now on, before this
        return kept[self._name]
