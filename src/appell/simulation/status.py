"""How a run ended: `Status`, the error `Interrupted`, and the internal signal `Stop`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from appell.errors import SimulationError

if TYPE_CHECKING:
    from appell.motion.record import Record


class Status(Enum):
    """Reason why a run ended; the value is a sentence for messages."""

    FINISHED = "The run reached its end."
    STOPPED = "A stop condition was met."
    TOLERANCE = "The tolerance cannot be reached: the step size has shrunk to the spacing of floating-point numbers."
    SINGULAR = "A constraint is singular: no finite force can satisfy it."
    UNSOLVED = "No contact forces were found that satisfy the contact and friction laws together."
    EVENTS = "There were more events than max_events."
    STEPS = "There were more steps than max_steps."
    STALLED = "The run has almost stopped advancing."
    REACH = "A leg has reached the end of its range, beyond which its coordinates are not defined."
    INSIDE = "A wall appeared at a place already occupied by contact points."
    INPUT = "An input is not valid, so the run cannot continue."

    @property
    def sentence(self) -> str:
        return self.value

    @property
    def ok(self) -> bool:
        """Whether the run reached its last time or a stop condition."""
        return self in (Status.FINISHED, Status.STOPPED)


class Interrupted(SimulationError):  # noqa: N818 - states what happened
    """A run that ended early: `record` is the motion up to that time, `status` the reason."""

    def __init__(self, problem: str, record: Record, *, expected: str = "", hint: str = ""):
        super().__init__(problem, expected=expected, hint=hint)
        self.record = record
        self.status = Status[record.status]


class Stop(Exception):  # noqa: N818 - a signal inside this package, not an error for users
    """Signal that ends a run, raised by the functions that the main loop calls.

    Parameters
    ----------
    status
        Reason, whose sentence starts the message.
    detail
        Further sentence with names, values and the time.
    expected, hint
        As in `AppellError`.
    final
        Whether the run must end. Otherwise the main loop may continue by time stepping.
    """

    def __init__(self, status: Status, detail: str = "", *, expected: str = "", hint: str = "", final: bool = False):
        super().__init__(detail)
        self.status, self.detail, self.expected, self.hint, self.final = status, detail, expected, hint, final
