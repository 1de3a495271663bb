"""The commands of docs/viewing.md: each serves a page on which a browser shows its robot."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "viewing.md"
BLOCK = re.search(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[1]
LINES = [line.partition("#")[0].split() for line in BLOCK.splitlines()]
MIN_TRIANGLES = {"panda": 20_000, "talos": 20_000}  # of robots with meshes
MIN_IMPACTS = {"tree10": 5, "box": 20}  # marked on the time line


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES, ids=lambda line: line[2])
def test_a_command_shows_its_robot(line, browser):
    program, *arguments = line
    assert program == "appell"
    command = [sys.executable, "-m", "appell", *arguments, "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    lines = iter(process.stdout.readline, "")
    address = next(line for line in lines if "serving at" in line).split()[-1]
    browser.open(address, (800, 600))
    browser.ready()
    name = arguments[1]
    assert browser.ask("appell.scene.notes") == []
    assert browser.ask("appell.scene.triangles") > MIN_TRIANGLES.get(name, 100)
    marks = browser.ask("[...document.querySelectorAll('.mark')].filter((x) => x.dataset.kind === 'impact').length")
    assert marks >= MIN_IMPACTS.get(name, 0)
    browser.settled()
    seen = browser.picture().astype(int)
    browser.do("appell.show('links', false)")
    browser.settled()
    differs = np.abs(browser.picture().astype(int) - seen).max(axis=-1) > 20
    assert differs.sum() > 1000  # pixels where the robot was
    assert browser.complaints() == []
    browser.driver.get("about:blank")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in error
