"""Results of an optimisation: a record, or records, with the outcome of the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError
from appell.motion.record import Record
from appell.motion.records import Records

if TYPE_CHECKING:
    from appell.optimal.feedback import MotionFeedback
    from appell.optimal.optimizer import Optimizer

NOT_STORED = {"dynamics": None, "optimizer": None, "iterate": None}  # in pickles


@dataclass(frozen=True, eq=False, repr=False)
class OptimalMotion(Record):
    """The record of an optimal motion; row k contains the state and the torque from knot k on.

    Blocks beside q, v and tau: `costate`, derivatives of the remaining cost with respect to the state of a knot, and
    `multiplier`, multipliers of the inequalities and equalities of a knot. The last row repeats the last torque.
    """

    optimizer: Optimizer | None = field(default=None, repr=False)
    iterate: Mapping[str, np.ndarray] | None = field(default=None, repr=False)  # arrays of the solver, one member

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | NOT_STORED

    @property
    def solved(self) -> bool:
        """Whether the KKT residual and the duality gap are below the tolerance."""
        return self.about["solved"]

    @property
    def reason(self) -> str:
        """How the solver ended, as a sentence."""
        return self.about["reason"]

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return self.about["iterations"]

    @property
    def residuals(self) -> dict[str, float]:
        """KKT residual `error`, scaled as by IPOPT; its parts `dual` and `primal`; and the duality `gap`."""
        return self.about["residuals"]

    @property
    def cost(self) -> float:
        """Total cost."""
        return self.about["cost"]

    @property
    def parameters(self) -> dict[str, float]:
        """Optimal values of the free parameters by name; the duration in s."""
        return self.about["parameters"]

    @property
    def final_multipliers(self) -> dict[str, float]:
        """Multipliers of all rows of the last knot, those of `meet` included, and of bounds of free parameters."""
        return self.about["final_multipliers"]

    @property
    def gain(self) -> np.ndarray:
        """Feedback gains K of u = u_k + K (x ⊖ x_k) at all knots but the last, (steps, inputs, directions of x)."""
        if self.optimizer is None or self.iterate is None:
            raise ArgumentError("this record does not contain the solver's arrays.", hint="Solve the problem again.")
        return self.optimizer.gains({name: array[None] for name, array in self.iterate.items()})[0]

    def feedback(self, period: float | None = None) -> MotionFeedback:
        """Return the law u_k + K_k (x ⊖ x_k) that follows this motion; `period` in s is by default the step."""
        from appell.optimal.feedback import MotionFeedback

        gain = self.gain  # raises an error if the arrays of the solver are not stored
        assert self.optimizer is not None
        problem = self.optimizer.problem
        inputs = self.tau[:-1][:, problem.actuators]
        return MotionFeedback(problem, self.q, self.v, inputs, gain, self.t[-1] / (len(self) - 1), period)


@dataclass(frozen=True, eq=False, repr=False)
class OptimalMotions(Records):
    """Records of many optimal motions; `reports` are the metadata of each.

    If the duration is free, the times of these records are fractions of it; `solutions[k]` has its own times in s.
    """

    reports: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    optimizer: Optimizer | None = field(default=None, repr=False)
    iterate: Mapping[str, np.ndarray] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | NOT_STORED

    def _subset(self, key: slice | np.ndarray) -> OptimalMotions:
        members = np.arange(len(self))[key]
        iterate = None if self.iterate is None else {name: array[members] for name, array in self.iterate.items()}
        reports = tuple(self.reports[k] for k in members)
        blocks = {name: block[key] for name, block in self.blocks.items()}
        cost = None if self.cost is None else self.cost[key]
        return replace(self, blocks=blocks, cost=cost, reports=reports, iterate=iterate)

    def _member(self, k: int) -> OptimalMotion:
        record, report = super()._member(k), self.reports[k]
        parts = {name: getattr(record, name) for name in ("columns", "data", "units", "source", "dynamics")}
        data = np.array(record.data)
        if "duration" in report["parameters"]:
            data[:, 0] *= report["parameters"]["duration"]
        outcome = {"status": "FINISHED" if report["solved"] else "LOST", "message": report["reason"]}
        iterate = None if self.iterate is None else {name: array[k] for name, array in self.iterate.items()}
        about = {**record.about, **outcome, **report}
        return OptimalMotion(**{**parts, "data": data, "about": about}, optimizer=self.optimizer, iterate=iterate)

    @property
    def solved(self) -> np.ndarray:
        """Whether each member is solved, (members,)."""
        return np.array([report["solved"] for report in self.reports], bool)

    @property
    def reason(self) -> list[str]:
        """How the solver ended, a sentence per member."""
        return [report["reason"] for report in self.reports]

    @property
    def iterations(self) -> np.ndarray:
        """Numbers of iterations, (members,)."""
        return np.array([report["iterations"] for report in self.reports], int)

    @property
    def residuals(self) -> dict[str, np.ndarray]:
        """Residuals as in `OptimalMotion`, (members,) each."""
        return {
            name: np.array([r["residuals"][name] for r in self.reports]) for name in ("error", "dual", "primal", "gap")
        }

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Optimal values of the free parameters by name, (members,) each."""
        return {name: np.array([r["parameters"][name] for r in self.reports]) for name in self.reports[0]["parameters"]}

    @property
    def final_multipliers(self) -> dict[str, np.ndarray]:
        """Multipliers of all rows of the last knot by name, (members,) each; see `OptimalMotion`."""
        names = self.reports[0]["final_multipliers"]
        return {name: np.array([r["final_multipliers"][name] for r in self.reports]) for name in names}

    @property
    def gain(self) -> np.ndarray:
        """Feedback gains of all members, (members, steps, inputs, directions of x); see `OptimalMotion.gain`."""
        if self.optimizer is None or self.iterate is None:
            raise ArgumentError("these records do not contain the solver's arrays.", hint="Solve the problems again.")
        return self.optimizer.gains(self.iterate)
