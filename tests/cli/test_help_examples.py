"""The examples in the help of all commands run as printed, each in its own folder."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from terminals import all_commands

EXAMPLE = re.compile(r"\[bold\](appell [^\[]+)\[/\]")
NOT_RUN = {  # need minutes, other programs, another process, or a terminal
    "appell COMMAND --help",
    "appell --install-completion",
    "appell view panda",
    "appell bench --robot puma --part batch --quick",
    "appell bench --peers",
    "appell latency --ticks 20000",
    "appell fuzz --minutes 60 --output fuzz.json",
    "appell campaign --schedules 200",
    "appell control run puma --attach appell-cabinet",
    "appell control cabinet puma",
    "appell control serve ur5.urdf --protocol rtde",
    "appell control cabinet puma --payload 2",
    "appell excite panda --output motion.csv --friction",
    "appell rollout puma --members 10000 --steps 500 --spread 0.1 --plot fan.png",
    "appell export panda forward_dynamics --by q,v --to casadi",
}
EXIT_CODES = {
    "appell control run puma --device cabinet --fault encoder-loss@3.9": 2
}  # exit codes of examples that demonstrate a failure
STUDY = "table = {'x': [1.0, 2.0]}\ndef study(x):\n    return {'y': x}\n"
TENDON = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="a"/></actuator></mujoco>"""


def examples(command) -> list[str]:
    lines = EXAMPLE.findall(command.epilog or "")
    return lines + [line for each in getattr(command, "commands", {}).values() for line in examples(each)]


def files() -> None:
    """Write the files that the examples read: a URDF, a motion, a log, way-points and a study."""
    for name in ("my_robot.urdf", "arm.urdf"):
        Path(name).write_text(ap.to_urdf(ap.load("planar-2r")), encoding="utf-8")
    for name, text in {"identified.toml": ap.to_toml(ap.load("puma")), "study.py": STUDY, "hand.xml": TENDON}.items():
        Path(name).write_text(text, encoding="utf-8")
    puma = ap.load("puma")
    path = ap.motion.Ramp(puma.start, puma.start + 0.3, 1.0, 2.0, names=puma.coordinate_names)
    path.record(101).write("motion.csv")
    path.record(5).write("points.csv")
    moved = path.record(801)
    tau = ap.Dynamics(puma).inverse_dynamics(moved.q, moved.v, moved.a)
    names = {
        "q": puma.coordinate_names,
        "v": puma.coordinate_names,
        "a": puma.coordinate_names,
        "tau": puma.actuator_names,
    }
    ap.Record.of(moved.t, {"q": moved.q, "v": moved.v, "a": moved.a, "tau": tau}, names).write("log.csv")
    geometry = ap.identify.geometric_parameters(ap.load("planar-2r"))
    q = geometry.sample(20, np.random.default_rng(0))
    blocks = {"q": q, "position": geometry.pose(q, geometry.nominal)[:, :3, 3]}
    names = {"q": geometry.robot.coordinate_names, "position": "xyz"}
    ap.Record.of(np.arange(20), blocks, names).write("poses.csv")


COMMANDS = all_commands().values()
LINES = tuple(dict.fromkeys([*EXAMPLE.findall(app.info.epilog), *(x for each in COMMANDS for x in examples(each))]))
RUN = [line for line in LINES if line not in NOT_RUN and not line.startswith("appell view ")]  # view opens a browser
WRITERS = {  # the example that writes a file, by the file that other examples read
    "line.csv": next(line for line in RUN if "trajectory line" in line),
    "results.zarr": next(line for line in RUN if "sweep study.py" in line),
    "out/control.log": "appell control run puma --reference motion.csv --model identified.toml",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files that the examples read."""
    path = tmp_path_factory.mktemp("examples")
    with contextlib.chdir(path):
        files()
    return path


def run(line: str) -> None:
    result = CliRunner().invoke(app, shlex.split(line)[1:], env={"COLUMNS": "100"})
    allowed = {EXIT_CODES.get(line, 0)} | ({0, 3} if "identify" in line or "check" in line else set())
    assert result.exit_code in allowed, f"{line}\n{result.output}"
    assert result.exception is None or isinstance(result.exception, SystemExit), line


def test_the_lists_of_examples_are_up_to_date():
    assert len(LINES) > 25
    assert set(LINES) >= NOT_RUN, NOT_RUN - set(LINES)
    assert set(WRITERS.values()) <= set(RUN)


def chains() -> list[list[str]]:
    """Examples in the order in which they are run in one folder: one that writes a file, then those that read it."""
    chains = [[writer, *(line for line in RUN if name in line and line != writer)] for name, writer in WRITERS.items()]
    return chains + [[line] for line in RUN if not any(line in chain for chain in chains)]


@pytest.mark.slow
@pytest.mark.parametrize("lines", chains(), ids=lambda lines: lines[-1])
def test_examples_of_the_help_run(lines, folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for line in lines:
        run(line)
