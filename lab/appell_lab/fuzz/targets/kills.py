"""kill -9 at random times: everything reported as written exists, and no incomplete file is taken for complete.

Every job runs in its own process, forked from one that has everything loaded, so that the kill happens during its work
and not during the start of Python; commands start a new Python. The kill happens at a random count, after a random
fraction of the job's `kill_window_s`.
"""

from __future__ import annotations

import mmap
import os
import signal
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.motion.paths.fourier import Fourier
from appell.motion.record import Record
from appell_lab.fuzz.kill_jobs import (
    CabinetJob,
    CommandJob,
    DescriptionJob,
    Job,
    JournalJob,
    KernelJob,
    LoopJob,
    RecordJob,
)
from appell_lab.fuzz.target import Case, Target, Verdict, unexpected_error

WEIGHTS = {"journal": 3, "record .csv": 3, "record .npz": 3, "robot files": 2, "compile": 3, "control loop": 3}
WEIGHTS |= {"cabinet": 1, "appell simulate": 2, "appell excite": 1, "appell identify": 1}
COUNT_TIMEOUT_S = 20.0  # longest time to wait for the count at which a job is killed


@cache
def motion_file() -> Path:
    """Write a record of a moving arm, for commands that read one; the file is kept until the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="appell-fuzz-"))
    rng, robot = np.random.default_rng(5), load("planar-2r")
    path = Fourier(0.5, rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), np.zeros(2), 6.0)
    t = np.arange(0.0, 6.0, 0.005)
    q, v, a = path(t)
    tau = Dynamics(robot).inverse_dynamics(q, v, a) + 1e-3 * rng.normal(size=q.shape)
    blocks = {"q": q, "v": v, "a": a, "tau": tau}
    Record.of(t, blocks, robot.coordinate_names).write(folder / "motion.csv")
    return folder / "motion.csv"


@cache
def jobs() -> dict[str, Job]:
    """Return all jobs by name."""
    log = str(motion_file())
    wall = ("--wall", "plane:0,0,1,-0.5", "--until", "0.2")
    swing = [
        "--duration",
        "2",
        "--iterations",
        "2",
        "--starts",
        "1",
        "--rate",
        "100",
        "--range",
        "1",
        "--velocity",
        "5",
    ]
    made = ("--report", "{}/r.md", "--export", "{}/r.toml", "--force-export", "--force")
    commands = (
        CommandJob("appell simulate", ["simulate", "planar-2r", *wall, "--output", "{}/m.csv", "--force"], ["m.csv"]),
        CommandJob("appell excite", ["excite", "planar-2r", *swing, "--output", "{}/e.csv", "--force"], ["e.csv"]),
        CommandJob("appell identify", ["identify", log, "--robot", "planar-2r", *made], ["r.md", "r.toml"]),
    )
    all_jobs: tuple[Job, ...] = (
        JournalJob(),
        RecordJob("csv"),
        RecordJob("npz"),
        DescriptionJob(),
        KernelJob(),
        LoopJob(),
        CabinetJob(),
    )
    return {job.name: job for job in (*all_jobs, *commands)}


class Kills(Target):
    """kill -9 of every kind of process."""

    name = "kills"
    about = "kill -9 of writers, compilers, control loops, cabinets and commands at random times"
    seconds = 60.0
    max_sleep_s = 600
    megabytes = 2000

    def prepare(self) -> None:
        if not hasattr(os, "fork"):
            raise ArgumentError(
                "the target 'kills' needs a system with os.fork.", hint="Pass --only robots,files,arrays."
            )
        os.environ["APPELL_CACHE"] = tempfile.mkdtemp(prefix="appell-fuzz-")
        for job in jobs().values():
            with tempfile.TemporaryDirectory() as folder:
                job.verify(Path(folder), 0)  # loads and compiles what it needs

    def case(self, seed: int) -> Case:
        rng, names = np.random.default_rng([seed, 8]), list(WEIGHTS)
        weights = np.array([WEIGHTS[name] for name in names], float)
        job = names[int(rng.choice(len(names), p=weights / weights.sum()))]
        return {"job": job, "count": int((0, 1, 2, rng.integers(30))[rng.integers(4)]), "moment": float(rng.random())}

    def check(self, case: Case) -> Verdict:
        job, cache_folder = jobs()[case["job"]], os.environ["APPELL_CACHE"]
        shared = mmap.mmap(-1, 8)
        progress = np.frombuffer(shared, np.int64)
        with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as name:
            folder = Path(name)
            child = os.fork()
            if not child:
                try:
                    job.work(folder, progress)
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            until = time.monotonic() + COUNT_TIMEOUT_S
            while job.counts and progress[0] < case["count"] and time.monotonic() < until:
                time.sleep(1e-4)
            time.sleep(case["moment"] * job.kill_window_s)
            os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            written = int(progress[0])
            try:
                expected = code in (*job.exit_codes, -signal.SIGKILL)
                problem = "" if expected else "the process failed before it was killed"
                problem = problem or job.verify(folder, written)
            except Exception as error:
                problem = f"afterwards: {unexpected_error(error).problem}"
            finally:
                os.environ["APPELL_CACHE"] = cache_folder
            temporary = sum(path.suffix in (".part", ".new") for path in folder.rglob("*"))
        counts = {case["job"]: 1, "left unfinished": temporary, "counted before": written, "killed": int(code != 0)}
        return Verdict(problem, f"{job.name}: {problem[:60]}" if problem else "", {}, counts)
