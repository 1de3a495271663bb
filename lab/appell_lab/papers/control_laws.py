"""Table 4 of Valera 2003: the laws as meant, with a load that the model does not include, and as printed.

    printed   u = q̈_d - K_d q̇ - K_p e            meant   u = q̈_d - K_d (q̇ - q̇_d) - K_p e            e = q - q_d

With the printed damping the error obeys ë + K_d ė + K_p e = -K_d q̇_d: along a ramp the arm lags by K_d q̇_d / K_p,
which is 2 q̇_d / ω for two poles at -ω, however accurate the model is. Integral action does not remove this error while
the speed changes, and causes an overshoot.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from appell.control.gains import critical
from appell.control.laws import Law
from appell.hardware.loop.summary import last_motion
from appell.motion import Record
from appell.show.plot.style import BLUE, GREY, RED, figure_title, label, legend_below
from appell_lab.papers.cabinet_run import HOLD, cabinet_run, ramp, spline
from appell_lab.papers.page import Page

LAWS = ("pid", "pd-gravity", "point-to-point", "tracking", "tracking-integral")
PRINTED = {  # by the name of the law that is meant
    "tracking": Law(
        "tracking, as printed", "motion", False, True, lambda e, v, de, a, s, kp, kd, ki: a - kd * v - kp * e
    ),
    "tracking-integral": Law(
        "tracking-integral, as printed",
        "motion",
        True,
        True,
        lambda e, v, de, a, s, kp, kd, ki: a - kd * v - kp * e - ki * s,
    ),
}
PAYLOAD = 2.0  # kg, not included in any model


def table_4(page: Page, robot) -> None:
    """Show the laws as meant."""
    rows, final = [], {}
    for law in LAWS:
        error = _error(cabinet_run(robot, law, spline, payload=PAYLOAD))
        moving = "" if law == "point-to-point" else f"{1e3 * np.abs(error).max():.2f}"
        final[law] = 1e3 * np.abs(error[-1]).max()
        rows.append([law, moving, f"{final[law]:.2f}"])
    unloaded = _error(cabinet_run(robot, "point-to-point", spline))
    page.measure("final error of point to point, without a load [mrad]", 1e3 * np.abs(unloaded[-1]).max())
    page.measure("final error with integral action over that without", final["tracking-integral"] / final["tracking"])
    page.table(
        f"The controllers of Table 4 and two baselines, with {PAYLOAD:g} kg that the model does not include",
        ["law", "largest error, mrad", f"error {HOLD:g} s after the motion, mrad"],
        rows,
        note="A spline from rest to rest, as in Figure 5. Point to point jumps to the end of the spline, so that it "
        "has no error during the motion. All poles are at -20/s, those of point to point at -8/s; the gains of the "
        "torque laws are scaled by the inertia of each joint.",
    )


def printed_form(page: Page, robot) -> None:
    """Show the tracking laws as printed beside the laws as meant, along the ramp of Figure 5."""
    meant = {law: cabinet_run(robot, law, ramp) for law in PRINTED}
    printed = {law: cabinet_run(robot, law, ramp, printed=form) for law, form in PRINTED.items()}
    rows = []
    for law in PRINTED:
        cells = [np.abs(_error(logs[law])).max(axis=0) for logs in (meant, printed)]
        rows += [
            [f"{law}, {form}", *(f"{1e3 * x:.1f}" for x in worst)]
            for form, worst in zip(("K_d (q̇ - q̇_d)", "K_d q̇, printed"), cells, strict=True)
        ]
    ratios = [np.abs(_error(printed[law])).max() / np.abs(_error(meant[law])).max() for law in PRINTED]
    page.measure("largest error of the printed tracking law over that with K_d (q̇ - q̇_d)", max(ratios))
    gains = critical(20.0, 1e-3)
    lag = np.abs(_reference_rate(meant["tracking"])).max(axis=0) * gains.kd / gains.kp
    rows.append(["K_d q̇_d / K_p, tracking", *(f"{1e3 * x:.1f}" for x in lag)])
    page.table(
        "Table 4 as printed: largest error along the ramp of Figure 5, mrad",
        ["", *(f"joint {k + 1}" for k in range(6))],
        rows,
        note="K_d q̇ also damps the desired motion: the arm lags by K_d q̇_d / K_p, the last row. The standard loop "
        "stops at a following error of 50 mrad; here the limit is raised.",
    )
    page.figure("valera_table_4", lambda figure: _draw(figure, meant, printed))


def _error(log: Record) -> np.ndarray:
    span = last_motion(log)
    return log["q"][span] - log["qd"][span]


def _reference_rate(log: Record) -> np.ndarray:
    return log["vd"][last_motion(log)]


def _draw(figure, meant: Mapping[str, Record], printed: Mapping[str, Record]) -> None:
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, law in enumerate(PRINTED):
        above, below = grid[:, column]
        for logs, colour, name in ((meant, BLUE, "K_d (q̇ - q̇_d)"), (printed, RED, "K_d q̇, as printed")):
            span = last_motion(logs[law])
            t = logs[law]["t"][span] - logs[law]["t"][span][0]
            above.plot(t, logs[law]["q"][span, 0], color=colour, label=name)
            below.plot(t, 1e3 * _error(logs[law])[:, 0], color=colour)
        above.plot(t, printed[law]["qd"][span, 0], color=GREY, linestyle="--", linewidth=1.1, label="reference")
        above.set(title=law, ylabel="" if column else label("joint 1", "rad"))
        below.set(xlabel=label("time t", "s"), ylabel="" if column else label("error", "mrad"))
    legend_below(figure, grid[0, 0], 3)
    figure_title(figure, "Table 4: damping as meant and as printed")
