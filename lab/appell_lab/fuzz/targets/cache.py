"""The cache of machine code under attack: what an attacker left there never runs, and results are always right.

A case keeps two kernels in a folder of its own, spoils the folder in one or two of the ways of `cache_attacks`, and
asks for the kernel again, as the next process would: what comes back must be the right object, byte for byte, or be
made anew. It is linked and called. In some cases three processes ask at once. Nothing outside the folder is touched.
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
from appell_lab.fuzz.cache_attacks import ATTACKS, Siege
from appell_lab.fuzz.target import Case, Hunt, Verdict

RIGHT, EVIL = 2.0, 666.0
ASKED = 4  # times that the kernel is asked for after an attack
ALONE = ("no plain file", "swapped links", "rewritten")  # through these a second attack would act with our own rights
RACED = 40  # times while another process is at work


@cache
def compiled(factor: float) -> tuple[Function, bytes]:
    """A function of one number, and its object."""
    function = Function.of("double", {"x": 1}, lambda x: {"y": [factor * x[0]]})
    with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as folder:
        os.environ["APPELL_CACHE"] = folder
        function.kernel()
        (entry,) = Path(folder).glob("*.kernel")
        return function, entry.read_bytes()[disk._HEAD :]


class Cache(Hunt):
    """Attacks on the cache folder."""

    name = "cache"
    about = "cache folders corrupted, forged, replayed, linked, owned by others, swapped and written to meanwhile"
    seconds = 20.0
    share = 0.5

    def prepare(self) -> None:
        if not hasattr(os, "fork"):
            raise ArgumentError("this hunt needs processes that fork.", hint="appell fuzz --only robots,files,arrays")
        compiled(RIGHT), compiled(EVIL)
        warnings.simplefilter("ignore", CacheWarning)

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 6])
        attacks = [str(rng.choice(list(ATTACKS))) for _ in range(int(rng.choice([1, 1, 2])))]
        attacks = next(([name] for name in attacks if name in ALONE), attacks)
        return {"attacks": attacks, "crowd": bool(rng.random() < 0.1), "seed": seed}

    def check(self, case: Case) -> Verdict:
        rng = np.random.default_rng([case["seed"], 7])
        with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as place:
            siege = Siege(Path(place) / "cache", "a" * 64, compiled(RIGHT)[1], compiled(EVIL)[1], "b" * 64)
            precious = Path(place) / "precious"
            precious.write_text("data")
            os.environ["APPELL_CACHE"] = str(siege.folder)
            disk.fetch(siege.key, lambda: siege.right)
            disk.fetch(siege.other_key, lambda: siege.evil)
            stops = []
            try:
                for name in case["attacks"]:
                    try:
                        stops.append(ATTACKS[name](rng, siege))
                    except OSError:  # the first attack has left nothing that the second could spoil
                        continue
                raced = any(stops)
                problem = _crowd(siege) if case["crowd"] else ""
                for _ in range(RACED if raced else ASKED):
                    problem = problem or _ask(siege)
            finally:
                for stop in stops:
                    if stop:
                        stop()
            if precious.read_text() != "data":
                problem = problem or "a file outside the cache was changed"
        counts = {name: 1 for name in case["attacks"]} | {"fetches": RACED if raced else ASKED}
        return Verdict(
            problem, f"{problem.split(':')[0]} after {'+'.join(case['attacks'])}" if problem else "", {}, counts
        )

    def smaller(self, case: Case) -> Iterator[Case]:
        if len(case["attacks"]) > 1:
            for name in case["attacks"]:
                yield case | {"attacks": [name]}
        if case["crowd"]:
            yield case | {"crowd": False}


def _ask(siege: Siege) -> str:
    """What is wrong with the answer, if anything."""
    image = disk.fetch(siege.key, lambda: siege.right)
    if image == siege.evil:
        return "the attacker's object came back"
    if image != siege.right:
        return f"an object came back that nobody made: {len(image)} bytes"
    call = bind(compiled(RIGHT)[0].fused, np.float64, Code(image, "single"))
    call.x[:] = 21.0  # type: ignore[attr-defined]
    call()
    result = float(call.y[0])  # type: ignore[attr-defined]
    return "" if result == RIGHT * 21.0 else f"a wrong result: {result}"


def _crowd(siege: Siege) -> str:
    """Three processes that ask at once."""
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            code = 1
            try:
                code = 2 if any(_ask(siege) for _ in range(5)) else 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return "" if codes == [0, 0, 0] else f"one of three at once failed: exit codes {codes}"
