"""A verdict on paper: Markdown, HTML and figures. Tables are written once, as rows of text."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.files import check_target, write_text
from appell.show.page.document import document, html_table
from appell.show.plot.style import BLUE, DPI, GREY, RED, WIDE, label, new_figure, styled

if TYPE_CHECKING:
    from appell.identify.verdict import Assessment, Judgement

Table = tuple[str, list[str], list[list[str]]]  # title, heading, rows


def facts(verdict: Assessment) -> dict[str, Any]:
    """All that a report tells, as plain data: numbers in full, torques in N m or N, shares of the torque's range."""
    names = verdict.judgements[0].estimator.sought_.system.actuator_names
    best = verdict.best
    e, unsure = best.estimator, set(best.unsure)
    values = zip(e.base_.names, e.base_parameters_, e.std_, e.intervals(), strict=True)
    return {
        "passed": verdict.passed,
        "best": best.title,
        "methods": [
            {
                "method": j.title,
                "relative": dict(zip(names, j.errors["relative"], strict=True)),
                "r2": float(np.mean(j.errors["r2"])),
                "condition": j.estimator.condition_,
                "can_exist": exists(j),
                "passed": j.passed,
            }
            for j in (*verdict.judgements, verdict.described)
        ],
        "joints": [
            {"joint": name} | {key: best.errors[key][k] for key in ("rms", "max", "relative", "r2", "counted")}
            for k, name in enumerate(names)
        ],
        "parameters": [
            {"parameter": name, "value": value, "std": std, "low": low, "high": high, "unsure": name in unsure}
            for name, value, std, (low, high) in values
        ],
        "told": paragraphs(verdict),
        "units": {
            "rms, max": "N m or N",
            "relative": "of the torque's range",
            "counted": "of the rows",
            "value, std, low, high": "SI",
        },
    }


def tables(verdict: Assessment) -> list[Table]:
    found = facts(verdict)
    best, names = found["best"], [row["joint"] for row in found["joints"]]
    compare = [
        [row["method"], *(f"{100 * x:.2f}" for x in row["relative"].values()), f"{row['r2']:.5f}",
         f"{row['condition']:.3g}", row["can_exist"], "pass" if row["passed"] else "FAIL"]
        for row in found["methods"]
    ]  # fmt: skip
    heading = ["method", *(f"{name} %" for name in names), "R²", "condition", "can exist", "verdict"]
    joints = [
        [row["joint"], f"{row['rms']:.4g}", f"{row['max']:.4g}", f"{100 * row['relative']:.3f}", f"{row['r2']:.5f}",
         f"{100 * row['counted']:.0f}"]
        for row in found["joints"]
    ]  # fmt: skip
    values = [
        [str(k), row["parameter"], f"{row['value']:.6g}", f"{row['std']:.2g}", f"{row['low']:.5g} … {row['high']:.5g}",
         "unsure" if row["unsure"] else ""]
        for k, row in enumerate(found["parameters"], start=1)
    ]  # fmt: skip
    return [
        ("Held-out motion: rms error in percent of the torque's range", heading, compare),
        (f"Joint by joint: {best}", ["joint", "rms", "largest", "% of range", "R²", "% of rows"], joints),
        (f"Base parameters: {best}", ["", "parameter", "value", "standard deviation", "95 % interval", ""], values),
    ]


def exists(judgement: Judgement) -> str:
    """Whether what was found can exist, and what cannot."""
    wrong = [*judgement.impossible, *(parameter.name for parameter in judgement.negative)]
    return "no: " + ", ".join(wrong) if wrong else "yes"


def paragraphs(verdict: Assessment) -> list[str]:
    best = verdict.best
    base = best.estimator.base_
    words = "predicts" if best.passed else "does NOT predict"
    told = [f"FAIL: {doubt}." for doubt in verdict.doubts]
    told += [
        f"{best.title} {words} the held-out torques of every joint within {100 * best.limit:g} % of their range.",
        f"{base.count} base parameters from {best.estimator.samples_} samples, "
        f"condition number {best.estimator.condition_:.3g} with columns of unit length, rank {best.estimator.rank_}.",
    ]
    if best is verdict.described:
        fit = verdict.best_fit
        told[-1] = (
            f"No fit predicts the held-out torques better than the description ({100 * fit.error:.3g} % of their range"
            f" by {fit.title}, {100 * best.error:.3g} % as described): the description is kept as it is."
        )
    told += _found_besides(best)
    if best.unsure and best is not verdict.described:
        told.append(f"Hardly determined by this record: {', '.join(best.unsure)}.")
    if base.without_effect:
        told.append(
            f"Without effect on any joint, so not identifiable: {', '.join(c.name for c in base.without_effect)}."
        )
    for j in verdict.judgements:
        for body, flaw in j.impossible.items():
            told.append(f"{j.title}: body '{body}' {flaw}; it cannot be exported as it is.")
        for parameter, value in j.negative.items():
            told.append(f"{j.title}: {parameter.kind} of actuator '{parameter.owner}' is {value:.4g}, below zero.")
    return told + [f"Record: {remark}." for remark in verdict.remarks]


def _found_besides(judgement: Judgement) -> list[str]:
    """How far the description was off, and the widths of friction, if they were looked for."""
    told: list[str] = []
    e: Any = judgement.estimator
    if hasattr(e, "off_"):
        told.append(f"The described bodies are off by some {100 * e.off_:.2g} %, as far as this record can tell.")
    if hasattr(e, "widths_"):
        names = e.sought_.system.actuator_names
        listed = [
            f"{name} {width:.3g} ({low:.2g} … {high:.2g})" if width else f"{name} at once (below {high:.2g})"
            for name, width, (low, high) in zip(names, e.widths_, e.width_bounds_, strict=True)
        ]
        told.append(f"Coulomb friction changes sign within these speeds, found with it: {', '.join(listed)}.")
    return told


def markdown(verdict: Assessment) -> str:
    name = verdict.judgements[0].estimator.sought_.system.name
    lines = [f"# Identification of {name}", "", *(f"{p}\n" for p in paragraphs(verdict))]
    for title, heading, rows in tables(verdict):
        lines += [f"## {title}", "", "| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
        lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    meaning = verdict.best.estimator.base_.describe()
    return "\n".join([*lines, "## What the base parameters mean", "", "```", meaning, "```", ""])


def html(verdict: Assessment, path: str | Path | None = None, overwrite: bool = False) -> str:
    """One file with tables and, if matplotlib is there, figures in it."""
    title = f"Identification of {verdict.judgements[0].estimator.sought_.system.name}"
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [f"<p>{escape(p)}</p>" for p in paragraphs(verdict)]
    for title, heading, rows in tables(verdict)[:2]:
        parts.append(_html_table(title, heading, rows))
    try:
        import matplotlib  # noqa: F401 - a report is not lost for want of a picture

        picture = io.BytesIO()
        verdict.plot().savefig(picture, format="png", dpi=DPI)
        parts.append(f"<img alt='torques' src='data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}'>")
    except ImportError:
        parts.append("<p>No figures: matplotlib is not installed.</p>")
    parts.append(_html_table(*tables(verdict)[2]))
    parts.append(f"<h2>What the base parameters mean</h2><pre>{escape(verdict.best.estimator.base_.describe())}</pre>")
    text = document(title, parts)
    if path is not None:
        write_text(check_target(path, overwrite=overwrite), text, "the report")
    return text


def _html_table(title: str, heading: list[str], rows: list[list[str]]) -> str:
    table = html_table([escape(cell) for cell in heading], ([escape(cell) for cell in row] for row in rows))
    return f"<h2>{escape(title)}</h2>{table}"


def draw(verdict: Assessment, figure=None):
    """Held-out torque, prediction and residual of every joint; returns the matplotlib figure."""
    with styled():
        return _draw(verdict, figure)


def _draw(verdict: Assessment, figure):
    names = verdict.judgements[0].estimator.sought_.system.actuator_names
    rows = -(-len(names) // 2)
    figure = figure or new_figure(WIDE, 1.9 * rows + 0.9)
    axes = np.atleast_1d(figure.subplots(rows, 2 if len(names) > 1 else 1, sharex=True)).ravel()
    for k, (axis, name) in enumerate(zip(axes, names, strict=False)):
        axis.plot(verdict.t, verdict.tau[:, k], color=GREY, lw=2.5, alpha=0.7, label="measured, low-passed")
        axis.plot(verdict.t, verdict.predicted[:, k], color=BLUE, lw=1.0, label="predicted")
        axis.plot(verdict.t, verdict.tau[:, k] - verdict.predicted[:, k], color=RED, lw=0.8, label="residual")
        axis.set_title(name)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper right")
    figure.supxlabel(label("time t", "s"))
    figure.supylabel(label("torque", "N m or N"))
    return figure
