"""How a run ended, as a value that carries its sentence."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from appell.errors import SimulationError

if TYPE_CHECKING:
    from appell.motion.record import Record


class Status(Enum):
    """Why a run stopped where it did; the value is the sentence."""

    FINISHED = "The run reached its end."
    STOPPED = "A stop condition was met."
    TOLERANCE = "The tolerance cannot be reached: the step size has shrunk to the spacing of floating-point numbers."
    SINGULAR = "A constraint is singular: no finite force keeps it."
    UNSOLVED = "No contact forces were found that obey the laws of contact and friction together."
    EVENTS = "There were more events than max_events."
    STEPS = "There were more steps than max_steps."
    STALLED = "The run has all but stopped advancing."
    REACH = "A leg has come to the end of its reach, where its coordinates end."
    INSIDE = "A wall appeared where points already were."
    INPUT = "The run met an input that it cannot go on with."

    @property
    def sentence(self) -> str:
        return self.value

    @property
    def ok(self) -> bool:
        return self in (Status.FINISHED, Status.STOPPED)


class Interrupted(SimulationError):  # noqa: N818 - reads as what happened
    """A run that could not be carried to its end; `record` is the part up to there, `status` says why."""

    def __init__(self, problem: str, record: Record, *, expected: str = "", hint: str = ""):
        super().__init__(problem, expected=expected, hint=hint)
        self.record = record
        self.status = Status[record.status]


class Stop(Exception):  # noqa: N818 - a signal inside the chapter, not an error for users
    """Raised anywhere below the loop to end a run: a status, and what there is to say beyond its sentence.

    `final` if there is no other way to go on.
    """

    def __init__(self, status: Status, detail: str = "", *, expected: str = "", hint: str = "", final: bool = False):
        super().__init__(detail)
        self.status, self.detail, self.expected, self.hint, self.final = status, detail, expected, hint, final
