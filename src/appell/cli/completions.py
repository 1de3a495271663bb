"""What the Tab key offers: names of the zoo, frames of a robot, functions, languages, sections, laws.

A completion is a function of what was typed so far. It is called in a process of its own at every Tab, so that each
imports what it needs and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

Completion = Callable[[str], list[str]]


def among(names: Callable[[], Iterable[str]]) -> Completion:
    """Those of the names that begin as typed; after a comma, the next one of a list."""

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(begun)]

    return complete


def _robots() -> Iterable[str]:
    from appell.describe.load import zoo_names

    return zoo_names()


def _mechanisms() -> Iterable[str]:
    from appell.cli.workspace import RANGES

    return RANGES


def _bases() -> Iterable[str]:
    from appell.describe.build import BASES

    return BASES


def _formulations() -> Iterable[str]:
    from appell.formulate.formulations import FORMULATIONS
    from appell.formulate.systems import CLOSED_FORMS

    return [*FORMULATIONS, *CLOSED_FORMS]


def _inertia() -> Iterable[str]:
    from appell.formulate.methods import MASS_MATRIX

    return MASS_MATRIX


def _forward() -> Iterable[str]:
    from appell.formulate.methods import FORWARD_DYNAMICS, SOLVERS

    return [*SOLVERS, *FORWARD_DYNAMICS]


def _functions() -> Iterable[str]:
    from appell.catalogue import Entry
    from appell.dynamics import Dynamics
    from appell.frame_catalogue import FrameCatalogue

    of_frames = [key for key in vars(FrameCatalogue) if not key.startswith("_")]
    kinds = (vars(kind) for kind in Dynamics.__mro__)
    return dict.fromkeys([name for own in kinds for name, x in own.items() if isinstance(x, Entry)] + of_frames)


def _languages() -> Iterable[str]:
    from appell.cli.export import LANGUAGES

    return LANGUAGES


def _sections() -> Iterable[str]:
    from appell.lab.papers import SECTIONS

    return SECTIONS


def _parts() -> Iterable[str]:
    from appell.lab.bench.run import PARTS

    return PARTS


def _hunts() -> Iterable[str]:
    from appell.lab.campaigns.fuzz.hunts import HUNTS

    return HUNTS


def _laws() -> Iterable[str]:
    from appell.control.law.laws import LAWS

    return LAWS


def _integrators() -> Iterable[str]:
    from appell.simulation.integrate import KNOWN

    return KNOWN


def _estimators() -> Iterable[str]:
    from appell.cli.identify import METHODS

    return METHODS


def frames(ctx: typer.Context, incomplete: str) -> list[str]:
    """The frames of the robot that was typed before."""
    from appell.describe.load import load
    from appell.errors import AppellError

    left = next(iter(ctx.args), "")  # where words before an option without value go
    try:
        names = load(ctx.params.get("robot") or left).frame_names
    except (AppellError, OSError):  # no robot yet: there is nothing to offer
        return []
    return [name for name in names if name.startswith(incomplete)]


robots, mechanisms, bases = among(_robots), among(_mechanisms), among(_bases)
formulations, inertia_methods, forward_methods = among(_formulations), among(_inertia), among(_forward)
functions, languages, sections = among(_functions), among(_languages), among(_sections)
parts, hunts, laws = among(_parts), among(_hunts), among(_laws)
integrators, estimators = among(_integrators), among(_estimators)
