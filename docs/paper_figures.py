"""Store the figures of the papers for the gallery: `python docs/paper_figures.py [FOLDER]`.

FOLDER is the output of `appell reproduce --output FOLDER`; without it all sections are run, which takes some minutes.
Pictures are reduced to 64 colours, which makes the files three times smaller without a visible difference.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from appell_lab.papers.run_files import stored_runs
from appell_lab.papers.shown import ShownFigure

IMAGES = Path(__file__).parent / "images"
FOLDER = IMAGES / "papers"
EXTRA_COPIES = {"shafei_figure_18": IMAGES / "impacts.png"}  # figures that pages show


def keep(output: Path) -> None:
    """Replace the stored figures of every section in the output folder."""
    for name, run in stored_runs(output)[0].items():
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.png"):
            old.unlink()
        for shown in run.shown:
            if isinstance(shown, ShownFigure) and shown.file.endswith(".png"):
                picture = Image.open(output / shown.file).convert("RGB")
                small = picture.quantize(64, dither=Image.Dither.NONE)
                small.save(folder / shown.file, optimize=True)
                if shown.title in EXTRA_COPIES:
                    small.save(EXTRA_COPIES[shown.title], optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "appell", "reproduce", "--output", folder], check=True)
            keep(Path(folder))
