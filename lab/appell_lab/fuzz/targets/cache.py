"""Attacks on the cache of machine code: an attacker's object never runs, and results are always right.

A case stores two kernels in its own folder, applies one or two of the attacks of `cache_attacks`, and requests the
kernel again, as the next process would: the object must be the right one, byte by byte, or be compiled again. It is
linked and called. In some cases three processes request it at once. Nothing outside the folder may change.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from appell.compile.cache import object_cache as disk
from appell.compile.function import Function
from appell.compile.native.bound import bind
from appell.compile.native.machine import Code
from appell.errors import ArgumentError, CacheWarning
from appell_lab.fuzz.cache_attacks import ATTACKS, AttackedCache
from appell_lab.fuzz.target import Case, Target, Verdict

RIGHT, EVIL = 2.0, 666.0  # factors of the victim's and the attacker's function
REQUESTS = 4  # requests for the kernel after an attack
SINGLE_ATTACKS = ("special file", "swapped links", "rewritten")  # a second attack would follow their links and pipes
RACE_REQUESTS = 40  # requests while another process attacks


@cache
def compiled(factor: float) -> tuple[Function, bytes]:
    """Return a function of one number, and its compiled object."""
    function = Function.of("double", {"x": 1}, lambda x: {"y": [factor * x[0]]})
    with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as folder:
        os.environ["APPELL_CACHE"] = folder
        function.kernel()
        (entry,) = Path(folder).glob("*.kernel")
        return function, entry.read_bytes()[disk._HEADER_BYTES :]


class Cache(Target):
    """Attacks on the cache folder."""

    name = "cache"
    about = "cache folders that are corrupted, forged, linked, owned by others or changed while they are read"
    seconds = 20.0
    share = 0.5

    def prepare(self) -> None:
        if not hasattr(os, "fork"):
            raise ArgumentError(
                "the target 'cache' needs a system with os.fork.", hint="Pass --only robots,files,arrays."
            )
        compiled(RIGHT), compiled(EVIL)
        warnings.simplefilter("ignore", CacheWarning)

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 6])
        attacks = [str(rng.choice(list(ATTACKS))) for _ in range(int(rng.choice([1, 1, 2])))]
        attacks = next(([name] for name in attacks if name in SINGLE_ATTACKS), attacks)
        return {"attacks": attacks, "crowd": bool(rng.random() < 0.1), "seed": seed}

    def check(self, case: Case) -> Verdict:
        rng = np.random.default_rng([case["seed"], 7])
        with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as folder:
            attacked = AttackedCache(Path(folder) / "cache", "a" * 64, compiled(RIGHT)[1], compiled(EVIL)[1], "b" * 64)
            outside = Path(folder) / "outside"
            outside.write_text("data")
            os.environ["APPELL_CACHE"] = str(attacked.folder)
            disk.fetch(attacked.key, lambda: attacked.right)
            disk.fetch(attacked.other_key, lambda: attacked.evil)
            stops = []
            try:
                for name in case["attacks"]:
                    try:
                        stops.append(ATTACKS[name](rng, attacked))
                    except OSError:  # the first attack has removed what the second would change
                        continue
                requests = RACE_REQUESTS if any(stops) else REQUESTS
                problem = _concurrent_requests(attacked) if case["crowd"] else ""
                for _ in range(requests):
                    problem = problem or _request(attacked)
            finally:
                for stop in stops:
                    if stop:
                        stop()
            if outside.read_text() != "data":
                problem = problem or "a file outside the cache was changed"
        counts = {name: 1 for name in case["attacks"]} | {"fetches": requests}
        return Verdict(
            problem, f"{problem.split(':')[0]} after {'+'.join(case['attacks'])}" if problem else "", {}, counts
        )

    def smaller(self, case: Case) -> Iterator[Case]:
        if len(case["attacks"]) > 1:
            for name in case["attacks"]:
                yield case | {"attacks": [name]}
        if case["crowd"]:
            yield case | {"crowd": False}


def _request(attacked: AttackedCache) -> str:
    """Request the kernel and call it; return what is wrong, if anything."""
    image = disk.fetch(attacked.key, lambda: attacked.right)
    if image == attacked.evil:
        return "the attacker's object was returned"
    if image != attacked.right:
        return f"a corrupted object was returned: {len(image)} bytes"
    call = bind(compiled(RIGHT)[0].fused, np.float64, Code(image, "single"))
    call.x[:] = 21.0  # type: ignore[attr-defined]
    call()
    result = float(call.y[0])  # type: ignore[attr-defined]
    return "" if result == RIGHT * 21.0 else f"a wrong result: {result}"


def _concurrent_requests(attacked: AttackedCache) -> str:
    """Request the kernel from three processes at once; return what is wrong, if anything."""
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            code = 1
            try:
                code = 2 if any(_request(attacked) for _ in range(5)) else 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return "" if codes == [0, 0, 0] else f"one of three concurrent processes failed: exit codes {codes}"
