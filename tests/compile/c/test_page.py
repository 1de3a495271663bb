"""The page about C: its example builds and runs, and its figures are the measured ones."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pytest

import appell as ap

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "c-code.md").read_text(encoding="utf-8")


def test_the_example_builds_runs_and_gives_the_results_of_the_controller(tmp_path, monkeypatch, program):
    program("gcc")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exporting, controlling, simulating = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(exporting, "c-code.md", "exec"), names)
    exec(compile(controlling, "c-code.md", "exec"), names)
    exec(compile(simulating.splitlines()[0], "c-code.md", "exec"), names)
    assert {path.name for path in Path("firmware").iterdir()} >= {"arm_torques.c", "puma_gravity.h", "arm_slopes.c"}
    [main] = re.findall(r"```c\n(.*?)```", PAGE, flags=re.DOTALL)
    Path("firmware/main.c").write_text(main)
    [command] = re.findall(r"On a desktop: `(gcc .*?) && ./arm`", PAGE)
    subprocess.run(command.split(), cwd="firmware", check=True)
    said = subprocess.run(["firmware/arm"], check=True, capture_output=True, text=True).stdout

    controller = ap.control.Controller(names["design"])
    q = np.array([0.1, -0.4, 0.2, 0.0, 0.3, 0.0])
    for _ in range(3):
        tau = controller(q, np.zeros(6), np.array([q, np.zeros(6), np.zeros(6)]))
    assert np.array(said.split(), float) == pytest.approx(tau, rel=1e-5, abs=1e-3)


def test_the_figures_are_the_measured_ones():
    script = runpy.run_path(str(ROOT / "benchmarks" / "c_export.py"))
    shown = PAGE.split(script["BEGIN"])[1].split(script["END"])[0]
    assert shown == script["figures"](), "run: python benchmarks/c_export.py publish"
