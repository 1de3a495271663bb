"""Legends that cover curves are detected."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from appell.show.plot.style import new_figure
from appell_lab.references.figure_flaws import covered


@pytest.fixture
def curve():
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    x = np.linspace(0.0, 1.0, 50)
    axes.plot(x, x**2, label="square")
    return figure, axes


def test_a_legend_over_a_curve_is_named(curve):
    figure, axes = curve
    axes.legend(loc="upper right")
    assert covered(figure) == ["square"]


@pytest.mark.parametrize(
    "position", [{"loc": "upper left"}, {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}], ids=["corner", "outside"]
)
def test_a_legend_beside_the_curve_is_accepted(curve, position):
    figure, axes = curve
    axes.legend(**position)
    assert covered(figure) == []


def test_a_legend_between_two_points_of_a_line_covers_it():
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    axes.plot([0.0, 1.0], [0.0, 1.0], label="diagonal")
    axes.legend(loc="center")
    assert covered(figure) == ["diagonal"]


def test_a_legend_of_the_figure_is_checked_too(curve):
    figure, axes = curve
    figure.legend(*axes.get_legend_handles_labels(), loc="upper right")
    assert covered(figure) == ["square"]


def test_a_legend_over_a_curve_in_3d_is_named():
    figure = new_figure(6.0, 4.0)
    axes = figure.add_subplot(projection="3d")
    axes.plot([0, 1], [0, 1], [0, 1], label="diagonal")
    axes.legend(loc="center")
    assert covered(figure) == ["diagonal"]
