"""The verdict: estimators judged on motion that they have not seen.

Execution is one thing, prediction another: a fit that ran may still predict badly. An estimate passes if on the
held-out motion the error of every joint, root mean square against low-passed torque, stays within `limit` of that
torque's range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.consistent import flaws
from appell.identify.estimators.estimator import Estimator
from appell.identify.process import Processed
from appell.identify.samples import Samples

LIMIT = 0.02
UNSURE = 0.3  # a base parameter with a standard deviation above this share of its size is called unsure


@dataclass(frozen=True, eq=False)
class Judgement:
    """One estimator on the held-out motion."""

    estimator: Estimator
    errors: dict[str, np.ndarray]
    impossible: dict[str, str]
    limit: float

    @property
    def passed(self) -> bool:
        return bool(np.all(self.errors["relative"] <= self.limit))

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
class Verdict:
    """Judgements on the same held-out motion, with what is needed to draw it."""

    judgements: tuple[Judgement, ...]
    t: np.ndarray
    tau: np.ndarray
    predicted: np.ndarray  # by the first of them
    remarks: tuple[str, ...] = ()

    @property
    def best(self) -> Judgement:
        """The least error, relative to the range, of the worst joint; of near equals, one whose bodies can exist."""
        worst = {id(j): float(j.errors["relative"].max()) for j in self.judgements}
        close = [j for j in self.judgements if worst[id(j)] <= 1.05 * min(worst.values())]
        return min(close, key=lambda j: (bool(j.impossible), worst[id(j)]))

    def to_markdown(self) -> str:
        from appell.identify.report import markdown

        return markdown(self)

    def to_html(self, path=None) -> str:
        from appell.identify.report import html

        return html(self, path)

    def plot(self, figure=None):
        from appell.identify.report import plot

        return plot(self, figure)


def judge(
    estimators: Iterable[Estimator] | Estimator, held_out: Processed, *, limit: float = LIMIT, remarks=()
) -> Verdict:
    """Fitted estimators on motion held out from their fits."""
    listed = [estimators] if isinstance(estimators, Estimator) else list(estimators)
    if not listed:
        raise ArgumentError("there is no estimator to judge.")
    motion = held_out.samples.motion
    found = []
    for estimator in listed:
        errors = estimator.errors(*motion, held_out.smooth_tau)
        found.append(Judgement(estimator, errors, flaws(estimator.model_, estimator.parameters_), limit))
    return Verdict(tuple(found), held_out.t, held_out.smooth_tau, listed[0].predict(*motion), tuple(remarks))


def split(processed: Processed, share: float = 0.3) -> tuple[Processed, Processed]:
    """The first part of a record for fitting, the last for judging."""
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"a share of {share} cannot be held out.", expected="between 0 and 1")
    cut = int(len(processed.t) * (1.0 - share))

    def part(rows: slice) -> Processed:
        s = processed.samples
        samples = Samples(s.q[rows], s.v[rows], s.a[rows], s.tau[rows])
        return Processed(samples, processed.t[rows], processed.smooth_tau[rows], processed.band)

    return part(slice(0, cut)), part(slice(cut, None))
