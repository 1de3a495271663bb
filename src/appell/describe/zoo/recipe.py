"""Makers of mechanisms remember what they were given, so that a file can name them.

Whether bodies that cannot exist are accepted (`physical=False`) is no part of the recipe: as with robots, who reads a
description decides that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from appell.model.mechanism import Mechanism, Recipe

P = ParamSpec("P")


def maker(name: str) -> Callable[[Callable[P, Mechanism]], Callable[P, Mechanism]]:
    """The mechanism of this name in the zoo, with a recipe of the arguments that were given."""

    def decorate(make: Callable[P, Mechanism]) -> Callable[P, Mechanism]:
        @wraps(make)
        def made(*arguments: P.args, **options: P.kwargs) -> Mechanism:
            given = inspect.signature(make).bind(*arguments, **options).arguments
            numbers = {key: value for key, value in given.items() if key != "physical"}
            return make(*arguments, **options).labelled(recipe=Recipe(name, numbers, made))

        return made

    return decorate
