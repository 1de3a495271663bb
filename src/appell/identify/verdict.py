"""The verdict: validation of estimators on motion that was held out from their fits.

An estimate passes if the error that it is expected to have on new motions, without noise, is at most `limit` for every
joint, relative to the root mean square of its torque over the whole record. `error_parts` computes this error: the
residuals on the held-out motion without the part that the noise of the sensors explains, and the uncertainty of the
parameters. Samples at which a joint moves more slowly than its dead zone are left out. The verdict also states what
limits the accuracy. Physically impossible bodies, friction levels and rotor inertias are reported separately.

The description is judged as well: if it predicts better than the best fit, it is kept. Torques whose sign or unit
cannot be those of this system fail, whatever was fitted to them (`torque_problems`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.formulate.equations import Parameter
from appell.identify.error_parts import ErrorParts, error_parts
from appell.identify.estimators.estimator import Estimator
from appell.identify.estimators.least_squares import Described
from appell.identify.estimators.physical import flaws
from appell.identify.parameter_set import NOT_NEGATIVE, ParameterSet
from appell.identify.processing import smoothed
from appell.identify.report import draw, html, markdown
from appell.identify.samples import samples_of, torque_problems
from appell.motion.record import Record

DEFAULT_LIMIT = 0.05  # of the RMS of a joint's torque over the whole record
ROUNDING = 1e-12  # relative to the largest parameter: smaller values count as zero
UNCERTAIN_DEVIATION = 0.3  # standard deviation, relative to its value, above which a base parameter counts as uncertain
CLOSE_ERROR = 1.05  # estimators whose error is within this factor of the smallest one count as equally good


@dataclass(frozen=True, eq=False)
class Judgement:
    """The errors of one estimator on the held-out motion."""

    estimator: Estimator
    errors: dict[str, np.ndarray]  # of the low-pass filtered torques, as `Estimator.errors` returns them
    parts: ErrorParts  # noise of the sensors, error of the model
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
        return bool(np.all(self.model_errors <= self.limit)) and getattr(self.estimator, "converged_", True)

    @property
    def model_errors(self) -> np.ndarray:
        """Expected RMS error of every joint on new motions without noise, relative to its RMS torque."""
        return self.parts.relative

    @property
    def residuals(self) -> np.ndarray:
        """RMS residual of every joint on the held-out motion, noise included, relative to its RMS torque."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.parts.residual / self.parts.scale

    @property
    def error(self) -> float:
        """Root mean square over the joints of their relative residuals."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def limited_by(self) -> str:
        """What limits the accuracy of the joint with the largest error, such as "noise" or "friction model"."""
        return self.parts.causes[int(np.argmax(self.model_errors))]

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
    delay: float = 0.0  # by which the torques were late, and which was removed, in s

    @property
    def best_fit(self) -> Judgement:
        """The estimator whose worst joint has the smallest error; among near equals, a physically possible one."""
        worst = {id(j): float(j.residuals.max()) for j in self.judgements}
        close = [j for j in self.judgements if worst[id(j)] <= CLOSE_ERROR * min(worst.values())]
        return min(close, key=lambda j: (not j.can_exist, worst[id(j)]))

    @property
    def best(self) -> Judgement:
        """The best fit, or the description if it predicts better than every fit."""
        return self.described if self.described.error < self.best_fit.error else self.best_fit

    @property
    def limited_by(self) -> str:
        """What limits the accuracy of the best model."""
        return self.best.limited_by

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
    estimators : fitted estimators of the same system
    held_out : Record
        A processed record that was not used for fitting. Its torques should not be filtered (`smooth=False`), because
        the noise above the band shows how large it is inside.
    limit : float
        Largest expected error of a joint, relative to the RMS of its torque in the whole record, with which an
        estimator passes.
    remarks : remarks on the record, to be repeated in reports

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
    samples = samples_of(held_out, first.system)
    tau = samples.tau if held_out.about.get("smooth") else smoothed(held_out, samples.tau)
    fitted = hasattr(listed[0], "torque_power_")  # the description is not
    power = listed[0].torque_power_ if fitted else np.zeros(first.system.nu)

    def judgement(estimator: Estimator) -> Judgement:
        parameter_set, parameters = estimator.result("parameter_set_"), estimator.parameters_
        errors = estimator.errors(*samples.motion, tau, after=lambda x: smoothed(held_out, x))
        parts, negative = (
            error_parts(estimator, held_out, (power, listed[0].samples_)),
            negative_parameters(parameter_set, parameters),
        )
        return Judgement(estimator, errors, parts, flaws(parameter_set, parameters), negative, limit)

    judgements = [judgement(estimator) for estimator in (described, *listed)]
    predicted, problems = smoothed(held_out, listed[0].predict(*samples.motion)), torque_problems(first, held_out)
    return Assessment(
        tuple(judgements[1:]), held_out.t, tau, predicted, judgements[0], problems, tuple(remarks),
        held_out.about.get("delay", 0.0),
    )  # fmt: skip


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
    names = best.estimator.parameter_set_.system.actuator_names
    rows = zip(names, best.model_errors, best.parts.causes, strict=True)
    beyond = [f"'{name}' {100 * x:.2g} % (limited by {cause})" for name, x, cause in rows if not x <= best.limit]
    return f"the expected errors of {', '.join(beyond)} exceed {100 * best.limit:g} % of the RMS torque"
