"""The robots that come with appell: trees as TOML files, mechanisms in closed form as functions that make them."""

from __future__ import annotations

from collections.abc import Callable

from appell.model.mechanism import Mechanism

MECHANISMS: dict[str, Callable[..., Mechanism]] = {}
