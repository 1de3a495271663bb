"""Store the arguments of a maker function with the mechanism it makes, so that a file can name maker and arguments.

`physical` is not part of the recipe: as for robots, the reader of a description decides whether bodies that cannot
exist are accepted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from appell.model.mechanism import Mechanism, Recipe

P = ParamSpec("P")


def maker(name: str) -> Callable[[Callable[P, Mechanism]], Callable[P, Mechanism]]:
    """Decorate a function that makes the mechanism of this name in the zoo: its results get a recipe."""

    def decorate(make: Callable[P, Mechanism]) -> Callable[P, Mechanism]:
        @wraps(make)
        def made(*arguments: P.args, **options: P.kwargs) -> Mechanism:
            given = inspect.signature(make).bind(*arguments, **options).arguments
            arguments_given = {key: value for key, value in given.items() if key != "physical"}
            return make(*arguments, **options).labelled(recipe=Recipe(name, arguments_given, made))

        return made

    return decorate
