"""Time to the first result: fresh processes with an empty disk cache, then again with a filled one.

The time is measured inside the process: first around the import of `appell.load` and `appell.Dynamics` (NumPy
included), then from the call of `load` until the first result is available. The start of Python itself and the
compilation of modules to bytecode are not counted; an untimed process compiles them first, as an installation does.
Processor time is stored beside elapsed time: other processes affect it less. Rows "with another payload" start with the
cache that processes with other payloads filled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory

from appell.errors import AppellError
from appell_lab.bench.aims import aim
from appell_lab.bench.figure import Figure
from appell_lab.bench.loop_robots import FEET
from appell_lab.bench.subject import Subject

PROGRAM = """
import json, sys, time, warnings
begin = time.perf_counter(), time.process_time()
import appell
appell.load, appell.Dynamics  # a public name imports its module when it is first used
imported = time.perf_counter(), time.process_time()
source, base, physical, function, wrt, feet, payload = json.loads(sys.argv[1])
warnings.simplefilter("ignore", appell.ModelWarning)
first = imported
if source:
    robot = appell.load(source, base=base, physical=physical, mimic=False)
    if feet:
        from appell_lab.bench.loop_robots import fixed_feet
        robot = robot.with_loops(*fixed_feet(robot, feet, robot.start))
    if payload:
        robot = robot.with_payload(payload, com=(0.01, 0.02, 0.03))
    call = getattr(appell.Dynamics(robot), function)
    if wrt:
        call = call.jacobian(*wrt)
    call(robot.start, [0.0] * robot.nv, [0.0] * robot.nu)
    first = time.perf_counter(), time.process_time()
print(json.dumps([[b - a for a, b in zip(*pair)] for pair in ((begin, imported), (imported, first))]))
"""


@dataclass(frozen=True)
class Start:
    """A first result whose time is measured."""

    name: str
    title: str
    subject: Subject | None
    function: str = ""
    cached: bool = False
    wrt: tuple[str, ...] = ()  # arguments of which the derivatives are computed
    feet: tuple[str, ...] = ()  # fixed to the ground
    loaded: bool = False  # whether every process has another payload

    @property
    def robot(self) -> str:
        """Name of the robot; "appell" for the import."""
        return self.subject.name if self.subject else "appell"


WARM_UP = Start("warm-up", "a pendulum's torque", Subject("pendulum", "pendulum"), "inverse_dynamics")


def starts(subjects: Sequence[Subject]) -> list[Start]:
    """Return what is measured: the import, and the first torques and accelerations of each robot."""
    result = [Start("import", "import appell", None)]
    for subject in subjects:
        result.append(Start("inverse_dynamics", "inverse dynamics, first result", subject, "inverse_dynamics"))
        result.append(
            Start("inverse_dynamics_cached", "inverse dynamics, from cache", subject, "inverse_dynamics", True)
        )
        result.append(Start("forward_dynamics", "forward dynamics, first result", subject, "forward_dynamics"))
        for function in ("inverse_dynamics", "forward_dynamics"):
            title = f"{function.replace('_', ' ')} with another payload, first result"
            result.append(Start(f"{function}_payload", title, subject, function, True, loaded=True))
        title = "derivatives of forward dynamics, first result"
        wrt = ("q", "v", "tau")
        result.append(Start("forward_dynamics_derivatives", title, subject, "forward_dynamics", wrt=wrt))
        if set(FEET) <= set(subject.robot.frame_names):
            title = "forward dynamics on two feet, first result"
            result.append(Start("two_feet", title, subject, "forward_dynamics", feet=FEET))
    return result


def measure(start: Start, processes: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure the best time of several processes."""
    seconds, processor = [], []
    bytecode = _bytecode().name
    with TemporaryDirectory(prefix="appell-bench-") as filled:
        if start.cached:
            _run(start, bytecode, filled, payload=_payload(start, 0))
        for k in range(processes):
            with TemporaryDirectory(prefix="appell-bench-") as empty:
                elapsed, used = _run(start, bytecode, filled if start.cached else empty, _payload(start, k + 1))
                seconds.append(elapsed)
                processor.append(used)
            tick()
    target = aim("start", start.robot, start.name)
    details = {"all": seconds, "processor": processor}
    return [Figure("start", start.robot, start.name, start.title, min(seconds), "s", target, details=details)]


@cache
def _bytecode() -> TemporaryDirectory:
    """Return a folder with the bytecode of all modules; deleted when this process ends."""
    folder = TemporaryDirectory(prefix="appell-bench-")
    with TemporaryDirectory(prefix="appell-bench-") as empty:
        _run(WARM_UP, folder.name, empty)
    return folder


def _payload(start: Start, number: int) -> float:
    """Return a mass in kg; with round ones, products of inertias can be equal by chance, which changes the formula."""
    return 1.13 + 0.29 * number if start.loaded else 0.0


def _run(start: Start, bytecode: str, cache: str, payload: float = 0.0) -> tuple[float, float]:
    """Return elapsed time and processor time of a fresh process."""
    subject = start.subject
    arguments = ["", "", True, "", (), (), 0.0]
    if subject:
        arguments = [subject.source, subject.base, subject.physical, start.function, start.wrt, start.feet, payload]
    environment = os.environ | {"APPELL_CACHE": cache, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AppellError(f"a fresh process could not compute {start.title} of '{start.robot}':\n{done.stderr.strip()}")
    imported, first = json.loads(done.stdout)
    elapsed, processor = first if subject else imported
    return elapsed, processor
