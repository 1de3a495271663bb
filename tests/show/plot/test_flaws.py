"""Every rule for figures finds what breaks it, names the culprit, and is silent about a figure that keeps it."""

from __future__ import annotations

import numpy as np
import pytest

from appell.show.plot.style import COLORS, DASHES, darker, label, legend_beside, line_style, new_figure, styled
from appell_lab.references.figure_flaws import flaws


def drawn(change=lambda figure, axes: None, size=(6.0, 4.0)):
    """A figure that keeps all rules, until it is changed."""
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
def test_what_breaks_a_rule_is_named(change, words):
    found = flaws(drawn(change))
    assert any(words in flaw for flaw in found), found


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
    assert len(flaws(figure)) == 2  # the lower one, and the one above it that shared its label


def test_numbers_without_a_unit_are_those_of_a_list():
    assert flaws(drawn(lambda figure, axes: axes.set_ylabel("condition number"))) == []


def test_things_along_an_axis_need_no_unit():
    def named(figure, axes):
        axes.set_yticks([0.2, 0.8], ["a robot", "another"])
        axes.set_ylabel("")

    assert flaws(drawn(named)) == []


def test_a_label_in_space_is_seen_to_be_cut_off():
    with styled():
        figure = new_figure(4.0, 3.0)
        space = figure.add_subplot(projection="3d")
        space.plot([0, 1], [0, 1], [0, 1])
        space.set(**{f"{axis}label": label(axis, "m") for axis in "xyz"})
        space.set_box_aspect((1, 1, 1), zoom=1.6)
    assert any("cut off" in flaw for flaw in flaws(figure))


def test_more_lines_than_colours_can_be_told_apart():
    looks = {tuple(line_style(k).values()) for k in range(len(COLORS) * len(DASHES))}
    assert len(looks) == len(COLORS) * len(DASHES)
    assert darker("#ffffff") == (0.5, 0.5, 0.5)


def test_looking_at_a_figure_leaves_it_as_it_was():
    figure = drawn(lambda figure, axes: axes.plot([0, 1], [0, 1], visible=False))
    figure.axes[0].get_legend().set_visible(False)
    artists = figure.findobj()
    before, engine = [artist.get_visible() for artist in artists], figure.get_layout_engine()
    flaws(figure)
    assert [artist.get_visible() for artist in artists] == before
    assert figure.get_layout_engine() is engine
