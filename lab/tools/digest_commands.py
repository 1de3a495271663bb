"""Group `commands`: output, exit codes and files of command lines, in one temporary folder.

Commands run in this process, one after the other; later ones read files of earlier ones. Remarks on stderr are left
out, because some of them contain the duration of a compilation; the message of a command that fails is stored.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
from digest_internals import command_line
from digests import masked

import appell as ap

Entry = tuple[str, Callable[[], Any]]
CLOCKS = ("seconds",)  # keys of JSON whose values are clock times
WRITES = re.compile(r"--(output|log|export)\b|^convert")  # command lines that later ones may depend on
STUDY = "table = {'x': [1.0, 2.0, 3.0]}\ndef study(x, seed):\n    return {'y': x * x, 'seed': float(seed % 1000)}\n"
HAND = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="a"/></actuator></mujoco>"""

# command line, and the files that it writes and that are stored with it
LINES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("robots --json", ()),
    ("formulations --json", ()),
    ("info puma --json", ()),
    ("info four-bar --json", ()),
    ("info delta --json", ()),
    ("info arm.urdf --json", ()),
    ("info box --no-counts --json", ()),
    ("count puma --json", ()),
    ("count tree10 --json", ()),
    ("trajectory ramp puma --to 0.5,-0.5,0,1,0.5,0.8 --output ramp.csv --json", ("ramp.csv",)),
    ("trajectory ramp planar-2r --to 0.5,-0.5 --velocity 2 --samples 51 --output small.npz --json", ("small.npz",)),
    (
        "trajectory line puma --from 0.6,0.175,0.25 --to 0.244,0.527,0.25 --zyz 45,60,90 --duration 5 "
        "--output line.csv --json",
        ("line.csv",),
    ),
    ("trajectory spline points.csv --degree 5 --output smooth.csv --json", ("smooth.csv",)),
    ("trajectory fastest puma line.csv --output fast.csv --json", ("fast.csv",)),
    ("torques puma ramp.csv --no-friction --no-rotors --output tau.npz --json", ("tau.npz",)),
    ("torques puma ramp.csv --output drives.csv --json", ("drives.csv",)),
    ("simulate puma --until 0.2 --no-friction --no-rotors --output fall.npz --json", ("fall.npz",)),
    ("simulate puma --until 0.2 --json", ()),
    (
        "simulate tree10 --wall circle:2.5 --restitution 1 --friction 0 --until 0.6 --output tree.csv --json",
        ("tree.csv",),
    ),
    ("simulate box --wall plane:0,0,1,-2 --restitution 0.4 --friction 0.3 --until 0.9 --json", ()),
    ("simulate four-bar --v 2 --until 0.3 --json", ()),
    ("simulate five-bar --until 0.2 --torque 0.2,-0.1 --method RK45 --rtol 1e-6 --json", ()),
    ("simulate planar-2r --q 0.3,0.2 --until 0.3 --method LSODA --json", ()),
    ("rollout puma --members 8 --steps 40 --no-friction --no-rotors --output many.npz --json", ("many.npz",)),
    ("rollout planar-2r --members 4 --steps 40 --method moreau --speed 0.5 --seed 3 --json", ()),
    ("rollout four-bar --members 3 --steps 30 --method midpoint --json", ()),
    ("sweep study.py --output study.zarr --json", ()),
    ("sweep --show study.zarr --json", ()),
    (
        "excite planar-2r --range 1 --velocity 2 --duration 2 --iterations 3 --starts 1 --rate 200 "
        "--output motion.csv --json",
        ("motion.csv",),
    ),
    ("excite five-bar --duration 3 --iterations 3 --starts 1 --rate 100 --friction --json", ()),
    ("torques planar-2r motion.csv --samples 401 --output log.csv --json", ()),
    ("identify log.csv --robot planar-2r --report report.md --export found.toml --json", ("report.md", "found.toml")),
    ("identify log.csv --robot planar-2r --method svd --method ridge --method robust --method total --json", ()),
    ("identify log.csv --robot planar-2r --units tau=mNm --json", ()),
    ("control run pendulum --no-calibrate --log pendulum.log --plot pendulum.png --json", ()),
    ("control run puma --payload 2 --log puma.log --plot puma.png --json", ()),
    ("control run puma --fault encoder-loss@3.9 --log fault.log --plot fault.png --json", ()),
    ("control run five-bar --law tracking --log five.log --plot five.png --json", ()),
    ("control show puma.log --csv puma.csv --json", ("puma.csv",)),
    ("control replay puma.log puma", ()),
    ("campaign --schedules 2 --json", ()),
    ("export puma inverse_dynamics --json", ("puma_inverse_dynamics.c", "puma_inverse_dynamics.h")),
    ("export puma gravity --float --output single.c --json", ("single.c",)),
    ("export puma forward_dynamics --by q,v --output derivative.c --json", ("derivative.c",)),
    ("export puma pose --frame tool --to numpy --output pose.py --json", ("pose.py",)),
    ("export puma mass_matrix --friction --rotors --to json --output mass.json --json", ("mass.json",)),
    ("export four-bar forward_dynamics --to casadi --output four.casadi --json", ("four.casadi",)),
    ("export planar-2r forward_dynamics --to jax --output planar_jax.py --json", ("planar_jax.py",)),
    ("export planar-2r forward_dynamics --to torch --output planar_torch.py --json", ("planar_torch.py",)),
    ("export planar-2r mass_matrix --to sympy --output planar_sympy.py --json", ("planar_sympy.py",)),
    ("export planar-2r mass_matrix --to latex --output -", ()),
    ("convert puma puma.urdf", ("puma.urdf",)),
    ("convert puma puma.xml", ("puma.xml",)),
    ("convert four-bar four.toml", ("four.toml",)),
    ("convert arm.urdf arm.toml", ("arm.toml",)),
    ("convert hand.xml hand.urdf --without actuator", ("hand.urdf",)),
    ("workspace five-bar --points 15 --over x=-0.6:0.6 --over y=0:0.7 --json", ()),
    ("view fall.npz --html fall.html", ("fall.html",)),
    ("view four-bar --html four.html", ("four.html",)),
    ("info pumma --json", ()),
    ("simulate puma --q 1,2 --json", ()),
    ("simulate puma --wall cube:1 --json", ()),
    ("convert puma puma.toml.txt", ()),
    ("trajectory ramp puma --to 0.5,-0.5,0,1,0.5,0.8 --output ramp.csv --json", ()),  # does not overwrite
)


def cases() -> Iterator[Entry]:
    """Yield every command line and each of its files."""
    with tempfile.TemporaryDirectory(prefix="appell-commands-") as folder, chdir(folder):
        _inputs()
        commands = Commands(folder)
        for number, (line, files) in enumerate(LINES):
            key = f"{line} (again)" if line in dict(LINES[:number]) else line
            yield key, lambda number=number: commands.result(number)
            for file in files:
                yield f"{key} > {file}", lambda file=file, number=number: commands.file(number, file)


class Commands:
    """Runs every command line at most once, after those that write files before it."""

    def __init__(self, folder: str):
        self.folder = folder
        self.results: dict[int, Any] = {}

    def result(self, number: int) -> Any:
        """Return the answer of the command line of this number."""
        for k, (line, _) in enumerate(LINES[: number + 1]):
            if k not in self.results and (k == number or WRITES.search(line)):
                self.results[k] = answer(line, self.folder)
        return self.results[number]

    def file(self, number: int, name: str) -> Any:
        """Return the content of a file of that command line."""
        self.result(number)
        return content(Path(name), self.folder)


def _inputs() -> None:
    """Write the inputs of the commands: robots, way-points and a study."""
    Path("arm.urdf").write_text(ap.to_urdf(ap.load("planar-2r")), encoding="utf-8")
    Path("hand.xml").write_text(HAND, encoding="utf-8")
    Path("study.py").write_text(STUDY, encoding="utf-8")
    puma = ap.load("puma")
    ap.motion.Ramp(puma.start, puma.start + 0.3, 1.0, 2.0, names=puma.coordinate_names).record(5).write("points.csv")


def answer(line: str, folder: str) -> Any:
    """Return exit code and output of a command line, without clock times; its message if it failed."""
    from typer.testing import CliRunner

    result = CliRunner().invoke(command_line(), shlex.split(line), env={"COLUMNS": "100", "NO_COLOR": "1"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    output = masked(result.stdout, folder)
    data = without_clocks(json.loads(output)) if "--json" in line and output else output
    return [result.exit_code, data, masked(result.stderr, folder) if result.exit_code == 1 else ""]


def without_clocks(data: Any) -> Any:
    """Return JSON data without the values of clocks."""
    if isinstance(data, dict):
        return {key: "<clock>" if key in CLOCKS else without_clocks(value) for key, value in data.items()}
    return [without_clocks(each) for each in data] if isinstance(data, list) else data


def content(path: Path, folder: str) -> Any:
    """Return the content of a file: arrays of an .npz by name, other files as text."""
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            arrays = {name: np.load(io.BytesIO(archive.read(name)), allow_pickle=False) for name in archive.namelist()}
        return {
            name: masked(str(array), folder) if array.dtype.kind == "U" else array for name, array in arrays.items()
        }
    return masked(path.read_text(encoding="utf-8"), os.path.realpath(folder))
