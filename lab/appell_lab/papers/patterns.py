"""Matrices drawn as patterns of cells: non-zero entries, their labels, and entries known by symmetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appell.show.plot.style import INK, NOTE_PT

CROSSED = "×"  # suffix of a cell that is known by symmetry


def draw_pattern(
    axes,
    cells: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Mapping[str, str],
) -> None:
    """Draw a grid of cells with their text; the first letter selects the colour, an empty cell is a structural zero."""
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if cell:
                faint = 0.25 if cell.endswith(CROSSED) else 0.6
                axes.fill_between([j, j + 1], i, i + 1, color=colours[cell[0]], alpha=faint, linewidth=0)
                text = cell.removesuffix(CROSSED)
                axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=NOTE_PT, color=INK)
                if cell.endswith(CROSSED):
                    axes.plot([j, j + 1], [i + 1, i], color=INK, linewidth=0.4)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), aspect="equal")
    axes.set_xticks([k + 0.5 for k in range(len(columns))], columns, fontsize=NOTE_PT)
    axes.set_yticks([k + 0.5 for k in range(len(rows))], rows, fontsize=NOTE_PT)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.grid(False)
    for k in range(len(columns) + 1):
        axes.axvline(k, color="white", linewidth=0.8)
    for k in range(len(rows) + 1):
        axes.axhline(k, color="white", linewidth=0.8)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def mirrored(cells: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a symmetric pattern with the cells below the diagonal crossed out."""
    return [
        [cell + CROSSED if cell and j < i and i < len(row) else cell for j, cell in enumerate(row)]
        for i, row in enumerate(cells)
    ]
