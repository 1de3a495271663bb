"""How a tree becomes a constrained robot: the call that a `Robot` makes, and that `model.constrained` answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any

from appell.errors import ModelError


@singledispatch
def closed(
    tree: Any,
    constraints: Iterable[Any],
    actuated: Iterable[str] | Mapping[str, float] | None = None,
    independent: Any = None,
    home: Iterable[float] | None = None,
) -> Any:
    """The tree under constraints: checked, closed and counted."""
    raise ModelError(f"{tree!r} cannot be constrained.", expected="a Robot")
