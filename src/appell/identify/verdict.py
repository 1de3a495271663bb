"""The verdict: validation of estimators on motion that was held out from their fits.

An estimate passes if, on the held-out motion, the error of every joint is at most `limit` times the range of its
torque. The error is the root mean square of measured minus predicted torque, both low-pass filtered, over the samples
at which the joint moves faster than its dead zone. Physically impossible bodies, friction levels and rotor inertias are
reported separately.

The description is judged as well: if it predicts better than the best fit, it is kept. Torques whose sign or unit
cannot be those of this system fail, whatever was fitted to them (`torque_problems`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.formulate.equations import Parameter
from appell.identify.estimators.estimator import Estimator
from appell.identify.estimators.least_squares import Described
from appell.identify.estimators.physical import flaws
from appell.identify.parameter_set import NOT_NEGATIVE, ParameterSet
from appell.identify.processing import smoothed
from appell.identify.report import draw, html, markdown
from appell.identify.samples import samples_of, torque_problems
from appell.motion.record import Record

DEFAULT_LIMIT = 0.02  # of the range of a joint's torque
ROUNDING = 1e-12  # relative to the largest parameter: smaller values count as zero
UNCERTAIN_DEVIATION = 0.3  # standard deviation, relative to its value, above which a base parameter counts as uncertain
CLOSE_ERROR = 1.05  # estimators whose error is within this factor of the smallest one count as equally good


@dataclass(frozen=True, eq=False)
class Judgement:
    """The errors of one estimator on the held-out motion."""

    estimator: Estimator
    errors: dict[str, np.ndarray]
    impossible: dict[str, str]  # bodies that cannot exist, and why
    negative: dict[Parameter, float]  # negative friction levels and rotor inertias
    limit: float

    @property
    def can_exist(self) -> bool:
        """Whether all bodies and actuators are physically possible."""
        return not (self.impossible or self.negative)

    @property
    def passed(self) -> bool:
        """Whether every joint is predicted within the limit, by a fit that converged."""
        return bool(np.all(self.errors["relative"] <= self.limit)) and getattr(self.estimator, "converged_", True)

    @property
    def error(self) -> float:
        """Root mean square over the joints of their errors relative to the torque's range."""
        return float(np.sqrt(np.mean(self.errors["relative"] ** 2)))

    @property
    def title(self) -> str:
        """Name of the estimator and its solver."""
        solver = getattr(self.estimator, "solver", None)
        return self.estimator.title + (f", {solver}" if solver else "")

    @property
    def uncertain(self) -> tuple[str, ...]:
        """Names of the base parameters that the data determine poorly."""
        e = self.estimator
        weak = e.std_ > UNCERTAIN_DEVIATION * np.abs(e.base_parameters_)
        return tuple(name for name, flag in zip(e.base_.names, weak, strict=True) if flag)


@dataclass(frozen=True, eq=False)
class Assessment:
    """The judgements of several estimators on the same held-out motion, with the data to plot it."""

    judgements: tuple[Judgement, ...]
    t: np.ndarray
    tau: np.ndarray
    predicted: np.ndarray  # tau as predicted by the first estimator
    described: Judgement  # of the description itself
    torque_problems: tuple[str, ...] = ()  # reasons why the torques cannot be those of this system
    remarks: tuple[str, ...] = ()

    @property
    def best_fit(self) -> Judgement:
        """The estimator whose worst joint has the smallest error; among near equals, a physically possible one."""
        worst = {id(j): float(j.errors["relative"].max()) for j in self.judgements}
        close = [j for j in self.judgements if worst[id(j)] <= CLOSE_ERROR * min(worst.values())]
        return min(close, key=lambda j: (not j.can_exist, worst[id(j)]))

    @property
    def best(self) -> Judgement:
        """The best fit, or the description if it predicts better than every fit."""
        return self.described if self.described.error < self.best_fit.error else self.best_fit

    @property
    def passed(self) -> bool:
        """Whether the best model predicts the held-out motion, and the torques are plausible."""
        return self.best.passed and not self.torque_problems

    to_markdown, to_html, plot = markdown, html, draw


def judge(
    estimators: Iterable[Estimator] | Estimator, held_out: Record, *, limit: float = DEFAULT_LIMIT, remarks=()
) -> Assessment:
    """Validate fitted estimators on motion that was held out from their fits.

    Parameters
    ----------
    estimators : Estimator or iterable of Estimator
        Fitted estimators of the same system.
    held_out : Record
        A processed record, usually `process(record, smooth=True)`, that was not used for fitting.
    limit : float
        Largest RMS error of a joint, relative to the range of its torque, with which an estimator passes.
    remarks : iterable of str
        Remarks on the record, to be repeated in reports.

    Returns
    -------
    Assessment
        The verdict: `passed`, `best`, `judgements`, `to_markdown()`, `to_html()` and `plot()`.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> from appell import identify
    >>> arm = ap.load("planar-2r")
    >>> path = identify.excite(arm, starts=1, iterations=5, velocity=3.0, acceleration=12.0).path
    >>> motion = path.record(period=0.01)
    >>> tau = ap.Dynamics(arm).inverse_dynamics(motion.q, motion.v, motion.a)
    >>> record = ap.Record.of(motion.t, {"q": motion.q, "tau": tau}, arm.joint_names)
    >>> fit_on, held_out = identify.split(identify.process(record, band=20.0), 0.3)
    >>> verdict = identify.judge(identify.LeastSquares(arm).fit_record(fit_on), held_out)
    >>> verdict.passed
    True
    """
    listed = [estimators] if isinstance(estimators, Estimator) else list(estimators)
    if not listed:
        raise ArgumentError("no estimator is given to judge.")
    first = listed[0].result("parameter_set_")
    described = Described(listed[0].described, dead_zone=listed[0].dead_zone, prior=listed[0].prior).fit()
    judgements = [_judgement(estimator, held_out, limit) for estimator in (described, *listed)]
    samples = samples_of(held_out, first.system)
    predicted, problems = smoothed(held_out, listed[0].predict(*samples.motion)), torque_problems(first, held_out)
    return Assessment(
        tuple(judgements[1:]), held_out.t, samples.tau, predicted, judgements[0], problems, tuple(remarks)
    )


def _judgement(estimator: Estimator, held_out: Record, limit: float) -> Judgement:
    parameter_set, parameters = estimator.result("parameter_set_"), estimator.parameters_
    samples = samples_of(held_out, parameter_set.system)
    errors = estimator.errors(*samples.motion, samples.tau, after=lambda x: smoothed(held_out, x))
    negative = negative_parameters(parameter_set, parameters)
    return Judgement(estimator, errors, flaws(parameter_set, parameters), negative, limit)


def negative_parameters(parameter_set: ParameterSet, parameters: np.ndarray) -> dict[Parameter, float]:
    """Return the friction levels, rotor inertias and stiffnesses that are negative, which no actuator can have."""
    threshold = -ROUNDING * float(np.abs(parameters).max())
    values = zip(parameter_set.parameters, np.asarray(parameters).tolist(), strict=True)
    return {parameter: value for parameter, value in values if parameter.kind in NOT_NEGATIVE and value < threshold}


def failure_reason(assessment: Assessment) -> str:
    """Return why a verdict is FAIL, as a clause without a full stop."""
    if assessment.torque_problems:
        return "; ".join(assessment.torque_problems)
    best = assessment.best
    if not getattr(best.estimator, "converged_", True):
        return "the fit did not converge, because the data contradict the description"
    errors = zip(best.estimator.parameter_set_.system.actuator_names, best.errors["relative"], strict=True)
    beyond = ", ".join(f"'{name}' {100 * error:.2g} %" for name, error in errors if not error <= best.limit)
    return f"the errors of {beyond} exceed {100 * best.limit:g} % of the torque's range"
