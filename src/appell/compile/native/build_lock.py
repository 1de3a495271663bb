"""The lock that is held while functions are traced, compiled and loaded, and a property cached under it.

Several threads that need the same function at the same time wait for one of them to build it. LLVM has its own locks: a
child forked while another thread holds one of them waits for ever. Therefore machine code is built under `BUILD_LOCK`,
and a fork acquires it first. The fork must acquire it before the lock of `logging`, which a fork acquires too and which
a thread that builds a function may need. Functions registered later with `os.register_at_fork` are called earlier, so
`logging` is imported here, before the registration below.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

LOG = logging.getLogger("appell")
BUILD_LOCK = threading.RLock()
T = TypeVar("T")


def is_locked_by_this_thread() -> bool:
    """Return whether this thread is building something; other threads then cannot, and it must not wait for them."""
    return BUILD_LOCK._is_owned()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=BUILD_LOCK.acquire, after_in_parent=BUILD_LOCK.release, after_in_child=BUILD_LOCK.release
    )


class locked_cached_property(Generic[T]):  # noqa: N801 - a decorator, like functools.cached_property
    """A property that is computed under `BUILD_LOCK` on first access and stored in the instance."""

    def __init__(self, make: Callable[[Any], T]):
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> locked_cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> locked_cached_property[T] | T:
        if instance is None:
            return self
        attributes = vars(instance)
        with BUILD_LOCK:
            if self._name not in attributes:
                attributes[self._name] = self._make(instance)  # later accesses do not come here
        return attributes[self._name]
