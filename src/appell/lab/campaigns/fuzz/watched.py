"""A process that checks cases and is watched: it may crash, hang or eat the memory, and the campaign goes on.

Time is processor time, so that a busy machine accuses nobody: a case that takes more than its hunt allows is a finding,
and one that takes far more is ended by the system (RLIMIT_CPU). One that only waits is ended after `PATIENCE` seconds.
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

from appell.lab.campaigns.fuzz.hunt import Case, Hunt, Outcome, fell_through

try:
    import resource
except ImportError:  # Windows: time is judged afterwards, memory not at all
    resource = None  # type: ignore[assignment]

PATIENCE = 60  # s without an answer, counted in short waits: a stop of the whole machine is not held against it
RECYCLED = 5000  # cases after which a process is replaced: what leaks or lingers belongs to no single case


class Watched:
    """`with Watched(hunt) as watched: outcome, seconds = watched.check(seed)`, or of a case."""

    def __init__(self, hunt: Hunt):
        self.hunt = hunt
        self._process: Any = None
        self._pipe: Connection | None = None
        self._served = 0

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def check(self, given: int | Case) -> tuple[Outcome, float]:
        """What came of a seed or a case, and the processor time that it took."""
        if self._process is None or self._served >= RECYCLED:
            self._end()
            self._start()
        assert self._pipe is not None
        self._served += 1
        try:
            self._pipe.send(given)
            for _ in range(PATIENCE):
                if self._pipe.poll(1.0):
                    return self._pipe.recv()
            return self._lost("it gave no answer"), float(PATIENCE)
        except (EOFError, OSError):
            return self._lost("it ended"), 0.0

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.hunt), daemon=False)
        self._process.start()
        theirs.close()
        self._served = 0
        self._pipe.recv()  # it is prepared

    def _lost(self, what: str) -> Outcome:
        process, self._process = self._process, None
        if process.is_alive() and what == "it gave no answer":
            process.kill()
        process.join()
        how = {-signal.SIGXCPU: f"the case hung: stopped after {_most(self.hunt):.0f} s of processor time"}.get(
            process.exitcode, f"the process crashed: {what} with exit code {process.exitcode}"
        )
        return Outcome(how, "hang" if "hung" in how or "no answer" in how else f"crash {process.exitcode}")

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


def _most(hunt: Hunt) -> float:
    return 2.0 * hunt.seconds + 2.0


def _serve(pipe: Connection, hunt: Hunt) -> None:
    """The other side: check what arrives until there is nothing more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign itself answers the user
    left: list[BaseException] = []  # what could not be raised, such as a file that nobody closed
    sys.unraisablehook = lambda what: left.append(what.exc_value or RuntimeError(str(what.err_msg)))
    hunt.prepare()
    pipe.send("ready")
    while (given := pipe.recv()) is not None:
        case = hunt.case(given) if isinstance(given, int) else given
        _limit(hunt)
        before = _processor_time()
        try:
            outcome = hunt.check(case)
        except Exception as error:
            outcome = fell_through(error)
        if left and not outcome.problem:
            outcome = fell_through(left[0])
        left.clear()
        seconds = _processor_time() - before
        _limit(None)
        if seconds > hunt.seconds and not outcome.problem:
            outcome = Outcome(f"the case took {seconds:.1f} s of processor time", "slow", outcome.figures)
        pipe.send((outcome, seconds))


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
