"""Makers of mechanisms remember what they were given, so that a file can name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec

from appell.model.mechanism import Mechanism
from appell.model.mechanism_parts import Recipe

P = ParamSpec("P")


def maker(name: str) -> Callable[[Callable[P, Mechanism]], Callable[P, Mechanism]]:
    """The mechanism of this name in the zoo, with a recipe of the arguments that were given."""

    def decorate(make: Callable[P, Mechanism]) -> Callable[P, Mechanism]:
        @wraps(make)
        def made(*arguments: P.args, **options: P.kwargs) -> Mechanism:
            given = inspect.signature(make).bind(*arguments, **options).arguments
            return replace(make(*arguments, **options), recipe=Recipe(name, given, made))

        return made

    return decorate
