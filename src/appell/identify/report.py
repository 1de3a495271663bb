"""Reports on a verdict: plain data, tables as rows of text, Markdown, HTML and figures."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.files import check_target, write_text
from appell.show.page.document import document, html_table
from appell.show.plot.style import BLUE, DPI, FIGURE_WIDTH_IN, GREY, RED, label, new_figure, styled

if TYPE_CHECKING:
    from appell.identify.verdict import Assessment, Judgement

PARTS = ("torque_noise", "motion_noise", "model", "uncertainty", "scale")  # of `ErrorParts`, in reports
Table = tuple[str, list[str], list[list[str]]]  # title, heading, rows


def facts(verdict: Assessment) -> dict[str, Any]:
    """Return the content of a report as plain data: torques in N m or N, relative errors by the RMS torque."""
    names = verdict.judgements[0].estimator.parameter_set_.system.actuator_names
    best = verdict.best
    e, uncertain = best.estimator, set(best.uncertain)
    values = zip(e.base_.names, e.base_parameters_, e.std_, e.intervals(), strict=True)
    return {
        "passed": verdict.passed,
        "best": best.title,
        "methods": [
            {
                "method": j.title,
                "relative": dict(zip(names, j.model_errors, strict=True)),
                "r2": float(np.mean(j.errors["r2"])),
                "condition": j.estimator.condition_,
                "can_exist": exists(j),
                "passed": j.passed,
            }
            for j in (*verdict.judgements, verdict.described)
        ],
        "joints": [
            {"joint": name, "relative": best.model_errors[k], "limited_by": best.parts.causes[k]}
            | {key: best.errors[key][k] for key in ("rms", "max", "r2", "counted")}
            | {key: getattr(best.parts, key)[k] for key in PARTS}
            for k, name in enumerate(names)
        ],
        "parameters": [
            {"parameter": name, "value": value, "std": std, "low": low, "high": high, "unsure": name in uncertain}
            for name, value, std, (low, high) in values
        ],
        "delay": verdict.delay,
        "limited_by": verdict.limited_by,
        "summary": paragraphs(verdict),
        "units": {
            f"rms, max, {', '.join(PARTS)}": "N m or N",
            "relative": "of the RMS torque of the whole record",
            "delay": "s",
            "counted": "of the rows",
            "value, std, low, high": "SI",
        },
    }


def tables(verdict: Assessment) -> list[Table]:
    """Return the tables of a report: methods compared, errors by joint, and base parameters."""
    data = facts(verdict)
    best, names = data["best"], [row["joint"] for row in data["joints"]]
    compare = [
        [row["method"], *(f"{100 * x:.2f}" for x in row["relative"].values()), f"{row['r2']:.5f}",
         f"{row['condition']:.3g}", row["can_exist"], "pass" if row["passed"] else "FAIL"]
        for row in data["methods"]
    ]  # fmt: skip
    heading = ["method", *(f"{name} %" for name in names), "R²", "condition", "can exist", "verdict"]
    joints = [
        [row["joint"], *(f"{row[key]:.3g}" for key in ("rms", "torque_noise", "motion_noise", "model", "uncertainty")),
         f"{100 * row['relative']:.2f}", row["limited_by"], f"{row['r2']:.5f}"]
        for row in data["joints"]
    ]  # fmt: skip
    joint_heading = ["joint", "residual", "torque noise", "position noise", "model error", "uncertainty", "expected %",
                     "limited by", "R²"]  # fmt: skip
    values = [
        [str(k), row["parameter"], f"{row['value']:.6g}", f"{row['std']:.2g}", f"{row['low']:.5g} … {row['high']:.5g}",
         "uncertain" if row["unsure"] else ""]
        for k, row in enumerate(data["parameters"], start=1)
    ]  # fmt: skip
    return [
        ("Expected error of new motions, in percent of the RMS torque of the record", heading, compare),
        (f"Held-out motion, RMS in N m or N: {best}", joint_heading, joints),
        (f"Base parameters: {best}", ["", "parameter", "value", "standard deviation", "95 % interval", ""], values),
    ]


def exists(judgement: Judgement) -> str:
    """Return "yes", or "no" with the bodies and actuator parameters that are physically impossible."""
    wrong = [*judgement.impossible, *(parameter.name for parameter in judgement.negative)]
    return "no: " + ", ".join(wrong) if wrong else "yes"


def paragraphs(verdict: Assessment) -> list[str]:
    """Return the text of a report, one sentence or paragraph per entry."""
    best = verdict.best
    base = best.estimator.base_
    predicts = "predicts" if best.passed else "does NOT predict"
    lines = [f"FAIL: {problem}." for problem in verdict.torque_problems]
    lines += [
        f"{best.title} {predicts} the torques of new motions within {100 * best.limit:g} % of the RMS torque of every "
        f"joint; the largest expected error is {100 * float(best.model_errors.max()):.2g} %, limited by "
        f"{best.limited_by}.",
        f"{base.count} base parameters from {best.estimator.samples_} samples, "
        f"condition number {best.estimator.condition_:.3g} with columns scaled to unit length, "
        f"rank {best.estimator.rank_}.",
    ]
    if best is verdict.described:
        fit = verdict.best_fit
        lines[-1] = (
            f"No fit predicts the held-out torques better than the description (residual {100 * fit.error:.3g} % of "
            f"the RMS torque with {fit.title}, {100 * best.error:.3g} % as described): the description is kept "
            "unchanged."
        )
    if verdict.delay:
        late = f"{1e3 * abs(verdict.delay):.2g} ms {'behind' if verdict.delay > 0.0 else 'ahead of'}"
        lines.append(f"The torques were {late} the positions; this delay was removed.")
    if np.isfinite(best.parts.cutoff).any():
        names = best.estimator.parameter_set_.system.actuator_names
        listed = [f"{n} {f:.2g} Hz" for n, f in zip(names, best.parts.cutoff, strict=True) if np.isfinite(f)]
        lines.append(
            f"The noise of the torques falls above a cut-off frequency, as behind a filter: {', '.join(listed)}."
        )
    lines += _further_results(best)
    if best.uncertain and best is not verdict.described:
        lines.append(f"Poorly determined by this record: {', '.join(best.uncertain)}.")
    if base.without_effect and not hasattr(best.estimator, "payload_"):
        lines.append(
            f"Not identifiable, because without effect on any joint: {', '.join(c.name for c in base.without_effect)}."
        )
    for j in verdict.judgements:
        for body, flaw in j.impossible.items():
            lines.append(f"{j.title}: body '{body}' {flaw}; it cannot be exported without changes.")
        for parameter, value in j.negative.items():
            lines.append(f"{j.title}: {parameter.kind} of actuator '{parameter.owner}' is negative ({value:.4g}).")
    return lines + [f"Record: {remark}." for remark in verdict.remarks]


def _further_results(judgement: Judgement) -> list[str]:
    """Return sentences on the error of the description and the widths of friction, if they were estimated."""
    lines: list[str] = []
    e: Any = judgement.estimator
    if hasattr(e, "description_error_"):
        lines.append(f"Estimated error of the described bodies: about {100 * e.description_error_:.2g} %.")
    if hasattr(e, "widths_"):
        names = e.parameter_set_.system.actuator_names
        listed = [
            f"{name} {width:.3g} ({low:.2g} … {high:.2g})" if width else f"{name} 0 (below {high:.2g})"
            for name, width, (low, high) in zip(names, e.widths_, e.width_bounds_, strict=True)
        ]
        lines.append(f"Estimated speeds within which Coulomb friction changes sign: {', '.join(listed)}.")
    return lines


def markdown(verdict: Assessment) -> str:
    """Return the report as Markdown."""
    name = verdict.judgements[0].estimator.parameter_set_.system.name
    lines = [f"# Identification of {name}", "", *(f"{p}\n" for p in paragraphs(verdict))]
    for title, heading, rows in tables(verdict):
        lines += [f"## {title}", "", "| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
        lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    definitions = verdict.best.estimator.base_.describe()
    return "\n".join([*lines, "## Definitions of the base parameters", "", "```", definitions, "```", ""])


def html(verdict: Assessment, path: str | Path | None = None, overwrite: bool = False) -> str:
    """Return the report as one HTML page with tables and, if matplotlib is installed, figures; write it to `path`."""
    title = f"Identification of {verdict.judgements[0].estimator.parameter_set_.system.name}"
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [f"<p>{escape(p)}</p>" for p in paragraphs(verdict)]
    for title, heading, rows in tables(verdict)[:2]:
        parts.append(_html_table(title, heading, rows))
    try:
        import matplotlib  # noqa: F401 - without matplotlib, the report has no figure

        picture = io.BytesIO()
        verdict.plot().savefig(picture, format="png", dpi=DPI)
        parts.append(f"<img alt='torques' src='data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}'>")
    except ImportError:
        parts.append("<p>No figures: matplotlib is not installed.</p>")
    parts.append(_html_table(*tables(verdict)[2]))
    parts.append(
        f"<h2>Definitions of the base parameters</h2><pre>{escape(verdict.best.estimator.base_.describe())}</pre>"
    )
    text = document(title, parts)
    if path is not None:
        write_text(check_target(path, overwrite=overwrite), text, "the report")
    return text


def _html_table(title: str, heading: list[str], rows: list[list[str]]) -> str:
    table = html_table([escape(cell) for cell in heading], ([escape(cell) for cell in row] for row in rows))
    return f"<h2>{escape(title)}</h2>{table}"


def draw(verdict: Assessment, figure=None):
    """Draw held-out torque, prediction and residual of every joint; return the matplotlib figure."""
    with styled():
        return _draw(verdict, figure)


def _draw(verdict: Assessment, figure):
    names = verdict.judgements[0].estimator.parameter_set_.system.actuator_names
    rows = -(-len(names) // 2)
    figure = figure or new_figure(FIGURE_WIDTH_IN, 1.9 * rows + 0.9)
    axes = np.atleast_1d(figure.subplots(rows, 2 if len(names) > 1 else 1, sharex=True)).ravel()
    for k, (axis, name) in enumerate(zip(axes, names, strict=False)):
        axis.plot(verdict.t, verdict.tau[:, k], color=GREY, lw=2.5, alpha=0.7, label="measured, low-pass filtered")
        axis.plot(verdict.t, verdict.predicted[:, k], color=BLUE, lw=1.0, label="predicted")
        axis.plot(verdict.t, verdict.tau[:, k] - verdict.predicted[:, k], color=RED, lw=0.8, label="residual")
        axis.set_title(name)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper right")
    figure.supxlabel(label("time t", "s"))
    figure.supylabel(label("torque", "N m or N"))
    return figure
