"""Draw the million payloads of batches.md: `python docs/payloads.py [FOLDER [COUNT]]`; default folder docs/images."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np

import appell as ap
from appell.show.plot.style import BLUE, FIGURE_WIDTH_IN, GREY, RED, figure_title, label, new_figure, save, styled

HERE = Path(__file__).parent
STUDY = runpy.run_path(str(HERE.parent / "examples" / "05_a_million_payloads.py"))


def payloads(folder: Path, count: int = 1_000_000) -> None:
    """Draw the distribution of peak torques per joint, and the share beyond the actuator limit."""
    boxes, limits = STUDY["boxes"](count), STUDY["LIMITS"]
    with ap.set_threads("all"):
        largest = STUDY["peaks"](*boxes)
    with styled():
        figure = new_figure(FIGURE_WIDTH_IN, 5.0)
        for axes, name, limit, torque in zip(
            figure.subplots(2, 3).flat, STUDY["PUMA"].joint_names, limits, largest.T, strict=True
        ):
            edges = np.linspace(0.0, 1.05 * max(limit, torque.max()), 120)
            share = 100.0 * np.histogram(torque, edges)[0] / count
            middles = 0.5 * (edges[1:] + edges[:-1])
            axes.fill_between(middles, share, step="mid", color=BLUE, linewidth=0.0)
            axes.fill_between(middles, share, step="mid", color=RED, linewidth=0.0, where=middles > limit)
            axes.axvline(limit, color=GREY, linestyle="--", linewidth=1.0)
            axes.set_title(f"{name}: {np.mean(torque > limit):.1%}\nabove {limit:g} N m")
            axes.set_xlabel(label("peak torque", "N m"))
            axes.set_xlim(0.0, edges[-1])
            axes.set_ylim(bottom=0.0)
        for row in figure.axes[::3]:
            row.set_ylabel(label("payloads", "%"))
        beyond = (largest > limits).any(axis=1).mean()
        text = f"{count:,} payloads on a straight line of a PUMA: {beyond:.1%} exceed the limit of some joint"
        figure_title(figure, text)
        save(figure, folder / "payloads.png", overwrite=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images"
    payloads(target, *map(int, sys.argv[2:]))
