"""Identification of the PUMA after Valera et al. 2003: QR, singular values, pseudo-inverse and ridge, and what
came since.

The paper names the methods and prints no results. Here the arm with the paper's parameters, and friction of ours,
runs on a simulated cabinet (encoders of the paper, 12-bit converter, noise); what is found is compared with what
was put in. Controller and estimators start from a description that is wrong by up to 30 % and knows of no
friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.describe.load import load
from appell.identify import (
    Cabinet,
    ClosedLoop,
    InstrumentalVariables,
    LeastSquares,
    Model,
    OutputError,
    PhysicallyConsistent,
    Ridge,
    Robust,
    TotalLeastSquares,
    Tracking,
    base_parameters,
    excite,
    judge,
    process,
    quality,
    random_spline,
)
from appell.identify.estimators.estimator import Estimator
from appell.identify.excite.bounds import Bounds
from appell.identify.record import PUMA_TORQUE
from appell.lab.papers.page import Page
from appell.model.body import Body
from appell.model.robot import Robot

PERIOD, WIDTH, DEAD_ZONE = 1e-3, 0.02, 0.05
# plausible ranges and top speeds of a PUMA 560, in degrees; not checked against a source
LIMITS: dict[str, Any] = {
    "lower": np.radians([-160.0, -225.0, -45.0, -110.0, -100.0, -266.0]),
    "upper": np.radians([160.0, 45.0, 225.0, 170.0, 100.0, 266.0]),
    "velocity": np.radians([82.0, 54.0, 122.0, 228.0, 241.0, 228.0]),
    "torque": np.array(PUMA_TORQUE),
}
FRICTION = {
    "coulomb": (5.0, 6.0, 4.0, 0.8, 0.7, 0.6),
    "viscous": (4.0, 6.0, 3.0, 0.7, 0.9, 0.4),
    "offset": (0.5, -0.3, 0.2, 0.05, -0.05, 0.02),
}


def with_friction(model: Model) -> np.ndarray:
    """The paper's parameters and our friction."""
    truth = model.nominal.copy()
    for k, column in enumerate(model.columns):
        if column.kind in FRICTION:
            truth[k] = FRICTION[column.kind][model.velocity_names.index(column.owner)]
    return truth


def guess(robot: Robot, spread: float = 0.3) -> Robot:
    """The robot as a drawing may have it: every body's mass and size wrong by up to `spread`."""
    rng, bodies = np.random.default_rng(3), {}
    for link in robot.links:
        if link.body is not None:
            mass, size = 1.0 + rng.uniform(-spread, spread, 2)
            body = link.body
            bodies[link.name] = Body(mass * body.mass, size * body.com, (mass * size * size) * body.inertia)
    return robot.with_bodies(bodies)


def run(page: Page) -> None:
    real = load("puma")
    model = Model(guess(real), friction=True, width=WIDTH)
    base = base_parameters(model)
    truth = with_friction(Model(real, friction=True, width=WIDTH))
    page.note(f"{base}; gravity along the first axis. The first ten of them:")
    page.note("\n".join(base.describe().splitlines()[2:12]))
    motion, other = _excitation(page, model)
    control = Tracking.along(model, motion, PERIOD)
    ((log, _),) = Cabinet().record(base, truth, control, seeds=[1])
    ((held_out, _),) = Cabinet().record(base, truth, Tracking.along(model, other, PERIOD), seeds=[2])
    data = process(log, hold=True)
    rest = process(held_out, hold=True, band=data.band)
    loop = ClosedLoop(control, np.round(data.t / PERIOD).astype(int), hold=True)
    options = {"dead_zone": DEAD_ZONE}
    fits: list[Estimator] = [LeastSquares(model, solver=solver, **options) for solver in ("qr", "svd", "pinv")]
    fits += [kind(model, **options) for kind in (Ridge, Robust, TotalLeastSquares)]
    fits += [InstrumentalVariables(model, simulate=loop.simulate, **options)]
    try:
        import cvxpy  # noqa: F401

        fits.append(PhysicallyConsistent(model, **options))
    except ImportError:
        page.note("physically consistent fit left out: pip install 'appell[identify]'")
    for fit in fits:
        fit.fit(*data.samples.motion, data.samples.tau)
    fits.append(OutputError(model, loop=loop, start=fits[0], iterations=2, **options))
    fits[-1].fit(*data.samples.motion, data.samples.tau)
    verdict = judge(fits, rest)
    beta = base.values(truth)
    rows = []
    for judgement in verdict.judgements:
        e = judgement.estimator
        inside = np.mean((e.intervals()[:, 0] <= beta) & (beta <= e.intervals()[:, 1]))
        far = np.linalg.norm(e.base_parameters_ - beta) / np.linalg.norm(beta)
        worst = 100 * float(judgement.errors["relative"].max())
        can = "yes" if not judgement.impossible else "no: " + ", ".join(judgement.impossible)
        rows.append([judgement.title, f"{100 * far:.2f} %", f"{100 * inside:.0f} %", f"{worst:.2f} %", can])
    page.table(
        f"The PUMA from 10 s at 1 kHz on the simulated cabinet, low-passed at {data.band:.1f} Hz",
        ["method", "error of base parameters", "inside 95 %", "worst joint, held out", "bodies can exist"],
        rows,
        note="Held out: rms error on another motion, in percent of the torque range. The paper's methods come first.",
    )
    page.figure("identification", lambda figure: verdict.plot(figure))


def _excitation(page: Page, model: Model):
    bounds = Bounds.of(model, **LIMITS)
    best = excite(model, bounds=bounds, starts=1)
    other = excite(model, bounds=bounds, starts=1, iterations=15, criterion="logdet", seed=7).trajectory
    base, rng = base_parameters(model), np.random.default_rng(0)
    splines = [quality(base, random_spline(model, bounds, 10.0, rng)) for _ in range(20)]
    median = float(np.median(splines))
    page.table(
        "Condition number of the base regressor with friction over 10 s",
        ["", "condition"],
        [["random splines, a way-point a second: median of 20", median], ["optimised Fourier series", best.condition],
         ["ratio", median / best.condition]],
        note="Within plausible ranges, speeds and torques of a PUMA 560; the paper prints none.",
    )  # fmt: skip
    return best.trajectory, other
