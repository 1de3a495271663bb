"""The verdict: estimators judged on motion that they have not seen.

Execution is one thing, prediction another: a fit that ran may still predict badly. An estimate passes if on the
held-out motion the error of every joint, root mean square against low-passed torque, stays within `limit` of that
torque's range, where the joint moves faster than its dead zone; predictions are low-passed like the torque. Bodies,
friction and rotors that cannot exist are named beside that.

The description is judged with the rest. If it predicts better than the best fit, it is what is kept. And torques whose
sign or unit cannot be those of this system fail whatever was fitted to them (`torque_doubts`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.formulate.equations import Parameter
from appell.identify.estimators.estimator import Estimator
from appell.identify.estimators.least_squares import Described
from appell.identify.estimators.physical import flaws
from appell.identify.processing import smoothed
from appell.identify.report import draw, html, markdown
from appell.identify.samples import columns_of, torque_doubts
from appell.identify.sought import NOT_NEGATIVE, Sought
from appell.motion.record import Record

LIMIT = 0.02
ROUNDING = 1e-12  # of the largest parameter: what is nearer to zero is zero
UNSURE = 0.3  # a base parameter with a standard deviation above this share of its size is called unsure


@dataclass(frozen=True, eq=False)
class Judgement:
    """One estimator on the held-out motion."""

    estimator: Estimator
    errors: dict[str, np.ndarray]
    impossible: dict[str, str]  # bodies that cannot exist, and why
    negative: dict[Parameter, float]  # friction and rotors below zero
    limit: float

    @property
    def can_exist(self) -> bool:
        return not (self.impossible or self.negative)

    @property
    def passed(self) -> bool:
        return bool(np.all(self.errors["relative"] <= self.limit)) and getattr(self.estimator, "settled_", True)

    @property
    def error(self) -> float:
        """The rms over the joints of their errors relative to the torque's range."""
        return float(np.sqrt(np.mean(self.errors["relative"] ** 2)))

    @property
    def title(self) -> str:
        solver = getattr(self.estimator, "solver", None)
        return self.estimator.title + (f", {solver}" if solver else "")

    @property
    def unsure(self) -> tuple[str, ...]:
        """Base parameters that the data hardly determine."""
        e = self.estimator
        weak = e.std_ > UNSURE * np.abs(e.base_parameters_)
        return tuple(name for name, flag in zip(e.base_.names, weak, strict=True) if flag)


@dataclass(frozen=True, eq=False)
class Assessment:
    """Judgements on the same held-out motion, with what is needed to draw it."""

    judgements: tuple[Judgement, ...]
    t: np.ndarray
    tau: np.ndarray
    predicted: np.ndarray  # by the first of them
    described: Judgement  # of the description itself
    doubts: tuple[str, ...] = ()  # why the torques cannot be those of this system
    remarks: tuple[str, ...] = ()

    @property
    def best_fit(self) -> Judgement:
        """The least error, relative to the range, of the worst joint; of near equals, one that can exist."""
        worst = {id(j): float(j.errors["relative"].max()) for j in self.judgements}
        close = [j for j in self.judgements if worst[id(j)] <= 1.05 * min(worst.values())]
        return min(close, key=lambda j: (not j.can_exist, worst[id(j)]))

    @property
    def best(self) -> Judgement:
        """The best fit, or the description if no fit is better."""
        return self.described if self.described.error < self.best_fit.error else self.best_fit

    @property
    def passed(self) -> bool:
        """Whether what is kept predicts the held-out motion, from torques that can be believed."""
        return self.best.passed and not self.doubts

    to_markdown, to_html, plot = markdown, html, draw


def judge(
    estimators: Iterable[Estimator] | Estimator, held_out: Record, *, limit: float = LIMIT, remarks=()
) -> Assessment:
    """Fitted estimators on motion held out from their fits: judge(fit, process(record, smooth=True))."""
    listed = [estimators] if isinstance(estimators, Estimator) else list(estimators)
    if not listed:
        raise ArgumentError("there is no estimator to judge.")
    first = listed[0].result("sought_")
    plain = Described(listed[0].described, dead_zone=listed[0].dead_zone, prior=listed[0].prior).fit()
    found = [_judgement(estimator, held_out, limit) for estimator in (plain, *listed)]
    seen = columns_of(held_out, first.system)
    predicted, doubts = smoothed(held_out, listed[0].predict(*seen.motion)), torque_doubts(first, held_out)
    return Assessment(tuple(found[1:]), held_out.t, seen.tau, predicted, found[0], doubts, tuple(remarks))


def _judgement(estimator: Estimator, held_out: Record, limit: float) -> Judgement:
    sought, parameters = estimator.result("sought_"), estimator.parameters_
    seen = columns_of(held_out, sought.system)
    errors = estimator.errors(*seen.motion, seen.tau, after=lambda x: smoothed(held_out, x))
    return Judgement(estimator, errors, flaws(sought, parameters), negative(sought, parameters), limit)


def negative(sought: Sought, parameters: np.ndarray) -> dict[Parameter, float]:
    """Friction levels and rotor inertias that were found below zero, which no actuator can have."""
    least = -ROUNDING * float(np.abs(parameters).max())
    found = zip(sought.parameters, np.asarray(parameters).tolist(), strict=True)
    return {parameter: value for parameter, value in found if parameter.kind in NOT_NEGATIVE and value < least}


def why(assessment: Assessment) -> str:
    """Why a verdict is FAIL, in half a sentence."""
    if assessment.doubts:
        return "; ".join(assessment.doubts)
    best = assessment.best
    if not getattr(best.estimator, "settled_", True):
        return "the data contradict the description so much that the fit did not settle"
    errors = zip(best.estimator.sought_.system.actuator_names, best.errors["relative"], strict=True)
    beyond = ", ".join(f"'{name}' {100 * error:.2g} %" for name, error in errors if not error <= best.limit)
    return f"errors above {100 * best.limit:g} % of the torque's range at {beyond}"
