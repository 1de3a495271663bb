"""Robots as commands read them: what is remarked about a description goes to stderr, in one line each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from appell.describe.load import load, load_tree
from appell.errors import ModelWarning
from appell.model.robot import Robot
from appell.model.system import System


@contextmanager
def collected() -> Iterator[list[str]]:
    """A list that holds the remarks on models made inside, once that is over."""
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield remarks
    remarks += [str(warning.message) for warning in caught if issubclass(warning.category, ModelWarning)]


@contextmanager
def told() -> Iterator[None]:
    """Remarks on models made inside, printed."""
    with collected() as remarks:
        yield
    console = Console(stderr=True, soft_wrap=True)
    for remark in remarks:
        console.print(Text.assemble(("warning ", "yellow"), remark))


def read_system(robot: str, base: str = "fixed", physical: bool = True) -> System:
    """The robot or mechanism of a name or a file."""
    with told():
        return load(robot, base=base, physical=physical)


def read_tree(robot: str, base: str = "fixed", physical: bool = True) -> Robot:
    """The same, for what only a tree can do."""
    with told():
        return load_tree(robot, base=base, physical=physical)
