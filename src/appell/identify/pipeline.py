"""Identification from a log in one call: filter, estimate the delay, split, fit and validate."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimator
from appell.identify.processing import dead_zones, process, split
from appell.identify.timing import estimate_delay
from appell.identify.verdict import DEFAULT_LIMIT, Assessment, judge
from appell.motion.record import Record


def identify_record(
    estimators: Estimator | Iterable[Estimator],
    record: Record,
    *,
    validation: Record | None = None,
    held_out: float = 0.3,
    band: float | None = None,
    hold: bool = False,
    delay: float | None = None,
    dead_zone=None,
    limit: float = DEFAULT_LIMIT,
    progress: Callable[[str], None] | None = None,
) -> Assessment:
    """Fit estimators to a measured record and validate them.

    Parameters
    ----------
    estimators : estimators of the same parameters; they are fitted, and their dead zones are set
    record : a measured record with q and tau, such as `motion.measured` returns
    validation : another record of the same robot for validation; by default the end of `record`
    held_out : fraction of `record`, at its end, for validation
    band, hold
        As in `process`.
    delay : time in s by which the torques are late; by default estimated, and removed if it is significant
    dead_zone : float or array_like, optional
        As in `Estimator`; by default `dead_zones`.
    limit : as in `judge`
    progress : called with a text before each step

    Returns
    -------
    Assessment
        The verdict, with the fitted estimators in `judgements`.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> arm, t = ap.load("planar-2r"), np.arange(0.0, 20.0, 0.01)
    >>> phase, k = np.outer([1.0, 1.7, 2.9], t), np.array([1.0, 0.5, 0.2])
    >>> q = np.column_stack([k @ np.sin(phase), k @ np.cos(1.3 * phase)])
    >>> v, a = (np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0))
    >>> tau = ap.Dynamics(arm).inverse_dynamics(q, v, a)
    >>> record = ap.Record.of(t, {"q": q, "tau": tau}, arm.joint_names)
    >>> ap.identify.identify_record(ap.identify.LeastSquares(arm), record).passed
    True
    """
    listed = [estimators] if isinstance(estimators, Estimator) else list(estimators)
    if not listed:
        raise ArgumentError("no estimator is given.")
    say = progress or (lambda _: None)
    parameter_set = listed[0].described
    data = process(record, band=band, hold=hold)
    options = {"band": data.about["band"], "hold": hold, "delay": delay or 0.0}
    if delay is None:
        say("estimating the delay")
        estimate = estimate_delay(parameter_set, data)
        options["delay"] = estimate.value if estimate.significant else 0.0
    if options["delay"]:
        data = process(record, **options)
    if validation is None:
        fit_on, rest = split(data, held_out)
    else:
        fit_on, rest = data, process(validation, **options)
    zone = dead_zones(parameter_set, fit_on) if dead_zone is None else dead_zone
    for estimator in listed:
        say(f"fitting: {estimator.title}")
        estimator.set_params(dead_zone=zone).fit_record(fit_on)
    say("validating")
    return judge(listed, rest, limit=limit, remarks=data.about["remarks"])
