"""kill -9 at random moments: what was said to be written is there, nothing half-written is taken for whole.

Every job runs in a process of its own, forked from one that has everything loaded, so that the moments fall into its
work and not into the start of Python; commands start from nothing. The killer waits for a random count, then for a
random part of a moment.
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
from appell_lab.fuzz.target import Case, Hunt, Verdict, fell_through

WEIGHTS = {"journal": 3, "record .csv": 3, "record .npz": 3, "robot files": 2, "compile": 3, "control loop": 3}
WEIGHTS |= {"cabinet": 1, "appell simulate": 2, "appell excite": 1, "appell identify": 1}
PATIENCE = 20.0  # s that the killer waits for a count


@cache
def motion_file() -> Path:
    """A record of an arm that moves, for the commands that read one; kept as long as the process."""
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


class Kills(Hunt):
    """kill -9 of every kind of process."""

    name = "kills"
    about = "kill -9 of writers, compilers, control loops, cabinets and commands at random moments"
    seconds = 60.0
    patience = 600
    megabytes = 2000

    def prepare(self) -> None:
        if not hasattr(os, "fork"):
            raise ArgumentError("this hunt needs processes that fork.", hint="appell fuzz --only robots,files,arrays")
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
        job, home = jobs()[case["job"]], os.environ["APPELL_CACHE"]
        counter = mmap.mmap(-1, 8)
        said = np.frombuffer(counter, np.int64)
        with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as place:
            folder = Path(place)
            child = os.fork()
            if not child:
                try:
                    job.work(folder, said)
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            until = time.monotonic() + PATIENCE
            while job.counts and said[0] < case["count"] and time.monotonic() < until:
                time.sleep(1e-4)
            time.sleep(case["moment"] * job.patience)
            os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            done = int(said[0])
            try:
                problem = "" if code in (*job.ends, -signal.SIGKILL) else "the process failed before it was killed"
                problem = problem or job.verify(folder, done)
            except Exception as error:
                problem = f"afterwards: {fell_through(error).problem}"
            finally:
                os.environ["APPELL_CACHE"] = home
            left = sum(path.suffix in (".part", ".new") for path in folder.rglob("*"))
        counts = {case["job"]: 1, "left unfinished": left, "counted before": done, "killed": int(code != 0)}
        return Verdict(problem, f"{job.name}: {problem[:60]}" if problem else "", {}, counts)
