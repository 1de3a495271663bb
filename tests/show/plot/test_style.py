"""The style of figures: files, error messages, prefixes and colours."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.show.plot import style

T = np.linspace(0.0, 1.0, 11)
RECORD = ap.Record.of(T, {"q": np.sin(T)[:, None]}, ("hinge",))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.xyz", r"'a\.xyz'(.|\n)*\.pdf, (.|\n)*\.png"),
        ("a", r"'a' cannot be written(.|\n)*\.png"),
        ("missing/a.png", "folder '.*missing' does not exist"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(name, words, tmp_path):
    for write in (RECORD.plot, lambda path: ap.draw(ap.load("pendulum"), None, path)):
        with pytest.raises(ap.ArgumentError, match=words):
            write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_list_instead_of_a_file_is_named():
    with pytest.raises(ap.ArgumentError, match=r"cannot be written to \['q'\]"):
        RECORD.plot(["q"])


@pytest.mark.parametrize("ending", ["png", "pdf", "svg", "PNG"])
def test_the_suffix_selects_the_format(ending, tmp_path):
    RECORD.plot(tmp_path / f"a.{ending}")
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending.lower()]
    assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for write in (RECORD.plot, lambda: RECORD.plot("a.png")):
        with pytest.raises(ap.ArgumentError, match=r"matplotlib(.|\n)*pip install 'appell\[plots\]'"):
            write()


@pytest.mark.parametrize(
    ("size", "unit", "scale"),
    [
        (3.2e-6, "µJ", 1e-6),
        (999.0, "J", 1.0),
        (1e3, "kJ", 1e3),
        (0.0, "J", 1.0),
        (1e-30, "aJ", 1e-18),
        (1e20, "TJ", 1e12),
    ],
)
def test_a_suitable_prefix_is_chosen(size, unit, scale):
    name, factor = style.prefixed(size, "J")
    assert (name, factor) == (unit, pytest.approx(scale))


def test_colours_are_distinguishable_for_colour_blind_readers():
    """Distances in CIELAB after simulated colour blindness (Machado's matrices, severity 1)."""
    deuteranopia = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
    protanopia = np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]])
    rgb = np.array([[int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)] for color in style.COLORS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for seen in (linear, linear @ deuteranopia.T, linear @ protanopia.T):
        lab = _lab(np.clip(seen, 0.0, 1.0))
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1) + 1e3 * np.eye(len(lab))
        assert apart.min() > 8.0  # 2.3 is just noticeable


def _lab(linear):
    xyz = linear @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", "pendulum", "--until", "0.1", *map(str, arguments)])


def test_the_command_line_rejects_a_figure_before_the_run(tmp_path):
    for option, name in (("--plot", "a.xyz"), ("--movie", "a.png"), ("--plot", "no/a.png")):
        result = run(option, tmp_path / name)
        assert result.exit_code == 1
        assert "samples" not in result.output
        assert "Traceback" not in result.output
    (tmp_path / "a.png").write_text("kept")
    assert run("--plot", tmp_path / "a.png").exit_code == 1
    assert (tmp_path / "a.png").read_text() == "kept"
    assert run("--plot", tmp_path / "a.png", "--force").exit_code == 0
