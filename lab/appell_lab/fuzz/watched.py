"""A process that checks cases and is watched: it may crash, hang or eat the memory, and the campaign goes on.

Time is processor time, so that a busy machine accuses nobody: a case that takes more than its hunt allows is a
finding, one that takes far more is ended by the system (RLIMIT_CPU), one that only sleeps after its hunt's patience.
Memory is limited from where the process stands before each case (RLIMIT_AS); beyond that Python raises MemoryError.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

from appell.errors import AppellError
from appell_lab.fuzz.target import Case, Hunt, Verdict, fell_through

try:
    import resource
except ImportError:  # Windows: time is judged afterwards, memory not at all
    resource = None  # type: ignore[assignment]

RECYCLED = 5000  # cases after which a process is replaced: what leaks or lingers belongs to no single case


class Watched:
    """`with Watched(hunt) as watched: verdict, seconds = watched.check(seed)`, or of a case."""

    def __init__(self, hunt: Hunt):
        self.hunt = hunt
        self._process: Any = None
        self._pipe: Connection | None = None
        self._served = 0

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def check(self, given: int | Case) -> tuple[Verdict, float]:
        """What came of a seed or a case, and the processor time that it took."""
        if self._process is None or self._served >= RECYCLED:
            self._end()
            self._start()
        assert self._pipe is not None
        self._served += 1
        try:
            self._pipe.send(given)
            asleep = 0
            while asleep < self.hunt.patience:
                if self._pipe.poll(1.0):
                    return self._pipe.recv()
                asleep += _sleeps(self._process.pid)
            return self._lost("it gave no answer"), float(asleep)
        except (EOFError, OSError):
            return self._lost("it ended"), 0.0

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.hunt), daemon=False)
        self._process.start()
        theirs.close()
        self._served = 0
        try:
            problem = self._pipe.recv()
        except EOFError:
            problem = "its process ended"
        if problem:
            self._process.join()
            self._process = None
            raise (
                problem
                if isinstance(problem, AppellError)
                else AppellError(f"hunt '{self.hunt.name}' cannot be prepared: {problem}")
            )

    def _lost(self, what: str) -> Verdict:
        process, self._process = self._process, None
        if process.is_alive() and what == "it gave no answer":
            process.kill()
        process.join()
        how = {-signal.SIGXCPU: f"the case hung: stopped after {_most(self.hunt):.0f} s of processor time"}.get(
            process.exitcode, f"the process crashed: {what} with exit code {process.exitcode}"
        )
        return Verdict(how, "hang" if "hung" in how or "no answer" in how else f"crash {process.exitcode}")

    def _end(self) -> None:
        if self._process is not None and self._pipe is not None:
            try:
                self._pipe.send(None)
                self._process.join(5.0)
            except OSError:
                pass
            if self._process.is_alive():
                self._process.kill()
            self._process.join()
        self._process = None


def _sleeps(pid: int) -> bool:
    """Whether a process waits for something; one that waits for a processor, or was stopped, does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "SD"
    except OSError:  # nobody says
        return True


def _most(hunt: Hunt) -> float:
    return 2.0 * hunt.seconds + 2.0


def _serve(pipe: Connection, hunt: Hunt) -> None:
    """The other side: check what arrives until there is nothing more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign itself answers the user
    left: list[BaseException] = []  # what could not be raised, such as a file that nobody closed
    sys.unraisablehook = lambda what: left.append(what.exc_value or RuntimeError(str(what.err_msg)))
    try:
        hunt.prepare()
    except Exception as error:
        pipe.send(error if isinstance(error, AppellError) else fell_through(error).problem)
        return
    pipe.send("")
    while (given := pipe.recv()) is not None:
        case = hunt.case(given) if isinstance(given, int) else given
        _limit(hunt)
        before = _processor_time()
        try:
            verdict = hunt.check(case)
        except Exception as error:
            verdict = fell_through(error)
        if left and not verdict.problem:
            verdict = fell_through(left[0])
        left.clear()
        seconds = _processor_time() - before
        _limit(None)
        if seconds > hunt.seconds and not verdict.problem:
            verdict = Verdict(f"the case took {seconds:.1f} s of processor time", "slow", verdict.figures)
        pipe.send((verdict, seconds))


def _processor_time() -> float:
    """Of this process and the children it has waited for."""
    if resource is None:
        return time.process_time()
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _limit(hunt: Hunt | None) -> None:
    """Set the system's limits for one case, or lift them."""
    if resource is None:
        return
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    cpu = resource.RLIM_INFINITY if hunt is None else math.ceil(used + _most(hunt))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    taken = _address_space()
    if taken:
        most = resource.RLIM_INFINITY if hunt is None else taken + hunt.megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _address_space() -> int:
    """Bytes that the process has mapped; 0 where nobody says."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
