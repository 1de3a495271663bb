"""Everything that is asked of constraints before any work is done with them; all flaws are told at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from appell.errors import ArgumentError, ModelError, gathered
from appell.model.constraint.constraint import Constraint
from appell.model.robot import Robot
from appell.model.validate import Flaw


def check_constraints(robot: Robot, constraints: Sequence[Constraint]) -> None:
    """Raise a ModelError with all that keeps these constraints from being laid on a robot."""
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ArgumentError(
                f"{constraint!r} is no constraint.", expected="such as Point('tip', 'pin') or Rolling('wheel', 0.1)"
            )
    flaws = [*_names(constraints), *(flaw for constraint in constraints for flaw in constraint.flaws(robot))]
    if flaws:
        raise gathered([flaw.error(robot.source) for flaw in flaws], robot.source or robot.owner, ModelError)


def _names(constraints: Sequence[Constraint]) -> Iterator[Flaw]:
    for name, count in Counter(constraint.name for constraint in constraints).items():
        if not isinstance(name, str):
            yield Flaw(("loop", str(name)), f"a constraint is named {name!r}.", "a text")
        elif count > 1:
            kinds = ", ".join(constraint.kind for constraint in constraints if constraint.name == name)
            problem = f"{count} constraints are named '{name}': {kinds}."
            yield Flaw(("loop", name), problem, "unique names", "name='...' for each of them")
