"""crocoddyl in an environment of its own.

crocoddyl 3.2.1 accepts any version of Pinocchio, but with Pinocchio 4.1 its free forward dynamics leave gravity out or
crash. The environment therefore has Pinocchio 4.0. It is made where the benchmark runs, in the folder of the peers, and
is used through a worker process that answers requests (`sources/crocoddyl_worker.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from appell_lab.bench.peers.builds import SOURCES, TARGET, BuildFolder
from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.references.oracle import relative_error
from appell_lab.references.reaching import Reaching

PACKAGES = ("crocoddyl==3.2.1", "pin==4.0.0", "example-robot-data==5.0.0")
SAME_DYNAMICS = 1e-9  # of the largest acceleration
INSTALL = "set -e; {python} -m venv $0.d; $0.d/bin/pip install -q {packages} >&2; mv $0.d {folder}; echo {folder} > $0"


class Crocoddyl:
    """The worker process; ends when the object is closed.

    Parameters
    ----------
    builds : folder in which the environment is made
    """

    def __init__(self, builds: BuildFolder):
        folder = builds.folder / f"crocoddyl-{sys.version_info.major}.{sys.version_info.minor}"
        script = INSTALL.format(python=sys.executable, packages=" ".join(PACKAGES), folder=folder)
        builds.make("crocoddyl.txt", ["bash", "-c", script, TARGET], [], "crocoddyl with Pinocchio 4.0")
        command = [str(folder / "bin" / "python"), str(SOURCES / "crocoddyl_worker.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Crocoddyl:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        answer = json.loads(self.process.stdout.readline() or '{"error": "the process ended"}')  # type: ignore[union-attr]
        if "error" in answer:
            raise PeerUnavailableError(f"crocoddyl, {do}: {answer['error']}")
        return answer

    def compare(self, problem: Reaching) -> float:
        """Return the relative difference of forward dynamics; raise an error if it is not rounding."""
        q, v, tau = np.random.default_rng(0).normal(size=(3, 20, problem.system.nv))
        theirs = self.ask("accelerations", problem=problem.statement(), q=q.tolist(), v=v.tolist(), tau=tau.tolist())
        difference = relative_error(problem.dyn.forward_dynamics(q, v, tau), theirs["a"])
        if difference > SAME_DYNAMICS:
            raise PeerUnavailableError(f"crocoddyl: accelerations of {problem.robot} differ by {difference:.1g}.")
        return difference
