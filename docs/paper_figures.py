"""Keep the figures of the papers for the gallery: `python docs/paper_figures.py [FOLDER]`.

FOLDER is one that `appell reproduce --output FOLDER` has filled; without it all sections are run, which takes some
minutes. Pictures are written with 64 colours, which makes them a third as large and not to be told apart by eye.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from appell_lab.papers.kept import kept
from appell_lab.papers.shown import ShownFigure

IMAGES = Path(__file__).parent / "images"
FOLDER = IMAGES / "papers"
BESIDE = {"shafei_figure_18": IMAGES / "impacts.png"}  # what the README shows


def keep(output: Path) -> None:
    """Replace the figures of every section that was run into a folder."""
    for name, run in kept(output)[0].items():
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.png"):
            old.unlink()
        for shown in run.shown:
            if isinstance(shown, ShownFigure) and shown.file.endswith(".png"):
                picture = Image.open(output / shown.file).convert("RGB")
                small = picture.quantize(64, dither=Image.Dither.NONE)
                small.save(folder / shown.file, optimize=True)
                if shown.title in BESIDE:
                    small.save(BESIDE[shown.title], optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([sys.executable, "-m", "appell", "reproduce", "--output", made], check=True)
            keep(Path(made))
