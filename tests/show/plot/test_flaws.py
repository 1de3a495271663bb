"""Every rule for figures reports violations by name and accepts a figure that follows it."""

from __future__ import annotations

import numpy as np
import pytest

from appell.show.plot.style import COLORS, DASHES, darker, label, legend_beside, line_style, new_figure, styled
from appell_lab.references.figure_flaws import flaws


def drawn(change=lambda figure, axes: None, size=(6.0, 4.0)):
    """Return a figure that follows all rules, after a change."""
    with styled():
        figure = new_figure(*size)
        axes = figure.subplots()
        t = np.linspace(0.0, 1.0, 50)
        axes.plot(t, t**2, label="square")
        axes.plot(t, t**3, label="cube")
        axes.set(xlabel=label("time t", "s"), ylabel=label("way", "m"), title="Powers")
        legend_beside(axes)
        change(figure, axes)
    return figure


def test_a_figure_that_keeps_the_rules_has_no_flaw():
    assert flaws(drawn()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda figure, axes: axes.set_xlabel(""), "x of 'Powers' has no label"),
        (lambda figure, axes: axes.set_ylabel("way"), "y of 'Powers' has no unit: 'way'"),
        (lambda figure, axes: axes.legend(loc="upper right"), "a legend covers s"),
        (lambda figure, axes: legend_beside(axes, axes.lines[:1] * 2, ["one", "two"]), "'two' and 'one' look the same"),
        (lambda figure, axes: axes.set_title("Powers", fontsize=7), "'Powers' has a font size of 7 points"),
        (lambda figure, axes: axes.plot([0, 1], [1, 0], color="lime", label="green"), "green is drawn in #00ff00"),
        (lambda figure, axes: axes.fill_between([0, 1], 0, 1, color="magenta"), "is drawn in #ff00ff"),
        (lambda figure, axes: figure.text(0.95, 0.01, "a long sentence"), "'a long sentence' is cut off"),
        (lambda figure, axes: figure.text(0.01, 0.99, "above", va="bottom"), "'above' is cut off"),
        (lambda figure, axes: (figure.text(0.3, 0.5, "one word"), figure.text(0.31, 0.5, "another")), "overlaps"),
        (lambda figure, axes: axes.set_yticks([0.0]), "y of 'Powers' has fewer than two numbers"),
    ],
)  # fmt: skip
def test_every_violation_of_a_rule_is_named(change, words):
    violations = flaws(drawn(change))
    assert any(words in flaw for flaw in violations), violations


def test_axes_in_a_row_and_a_column_share_their_labels():
    with styled():
        figure = new_figure(8.0, 5.0)
        grid = figure.subplots(2, 2)
        for axes in grid.ravel():
            axes.plot([0.0, 1.0], [0.0, 1.0])
        for k in range(2):
            grid[1, k].set_xlabel(label("time t", "s"))
            grid[k, 0].set_ylabel(label("way", "m"))
    assert flaws(figure) == []
    grid[1, 1].set_xlabel("")
    assert len(flaws(figure)) == 2  # the lower axis, and the one above that shared its label


def test_quantities_without_a_unit_are_listed():
    assert flaws(drawn(lambda figure, axes: axes.set_ylabel("condition number"))) == []


def test_an_axis_of_names_needs_no_unit():
    def named(figure, axes):
        axes.set_yticks([0.2, 0.8], ["a robot", "another"])
        axes.set_ylabel("")

    assert flaws(drawn(named)) == []


def test_a_cut_off_label_of_a_3d_axis_is_found():
    with styled():
        figure = new_figure(4.0, 3.0)
        space = figure.add_subplot(projection="3d")
        space.plot([0, 1], [0, 1], [0, 1])
        space.set(**{f"{axis}label": label(axis, "m") for axis in "xyz"})
        space.set_box_aspect((1, 1, 1), zoom=1.6)
    assert any("cut off" in flaw for flaw in flaws(figure))


def test_more_lines_than_colours_have_distinct_styles():
    styles = {tuple(line_style(k).values()) for k in range(len(COLORS) * len(DASHES))}
    assert len(styles) == len(COLORS) * len(DASHES)
    assert darker("#ffffff") == (0.5, 0.5, 0.5)


def test_checking_a_figure_does_not_change_it():
    figure = drawn(lambda figure, axes: axes.plot([0, 1], [0, 1], visible=False))
    figure.axes[0].get_legend().set_visible(False)
    artists = figure.findobj()
    before, engine = [artist.get_visible() for artist in artists], figure.get_layout_engine()
    flaws(figure)
    assert [artist.get_visible() for artist in artists] == before
    assert figure.get_layout_engine() is engine
