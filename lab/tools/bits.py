"""SHA-256 of the bits that compiled functions return, to compare machines and operating systems.

    python lab/tools/bits.py > linux.json                       whole zoo
    python lab/tools/bits.py puma panda > linux.json            some robots
    python lab/tools/bits.py --against linux.json               compute again, list differences, exit with 1 if any

The file maps robot -> function -> digest, for inverse dynamics, forward dynamics and their derivatives with respect to
q and v, each by the kernel of batches ("batch") and by that of single samples ("single"). With too few actuators for
inverse dynamics, `generalized_forces` replaces it. Inputs are computed from integers without rounding. The bits of a
kernel do not depend on the width of the registers (`compile/llvm/lanes.py`), only on whether the processor has fused
multiply-adds: the header states it, and files that differ there are not compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

import appell as ap
from appell.compile.native.machine import host

SAMPLES = 37  # not a multiple of any number of lanes
SINGLES = 3
MULTIPLIER, INCREMENT, MODULUS = 6364136223846793005, 1442695040888963407, 1 << 64  # linear congruence of Knuth
FREE_REACH, CLOSED_REACH = 3, 1 / 16  # largest distance from the initial configuration, in rad or m


def units(seed: int) -> Iterator[float]:
    """Yield numbers between -1 and 1 that are multiples of 2**-20."""
    state = seed
    while True:
        state = (MULTIPLIER * state + INCREMENT) % MODULUS
        yield ((state >> 43) - (1 << 20)) / (1 << 20)


def arguments(system: Any, function: Any, seed: int) -> dict[str, np.ndarray]:
    """Return `SAMPLES` values of every argument of a function."""
    values = units(seed)
    arrays = {}
    for argument in function.inputs:
        block = np.array([next(values) for _ in range(SAMPLES * argument.size)]).reshape(SAMPLES, *argument.shape)
        if argument.name == "q":
            block = np.asarray(system.start) + block * (FREE_REACH if isinstance(system, ap.Robot) else CLOSED_REACH)
        arrays[argument.name] = block
    return arrays


def digest(results: Any) -> str:
    """Return the SHA-256 of numbers as little-endian doubles, all of which must be finite."""
    total = hashlib.sha256()
    for array in results if isinstance(results, tuple) else (results,):
        if not np.isfinite(array).all():
            raise SystemExit("a result is not finite: its bits show nothing")
        total.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return total.hexdigest()


def of_robot(name: str) -> dict[str, str]:
    """Return the digests of one robot of the zoo."""
    system = ap.load(name)
    dyn = ap.Dynamics(system)
    digests = {}
    inverse = "inverse_dynamics" if len(system.actuators) >= system.nv else "generalized_forces"
    for label in (inverse, "forward_dynamics"):
        function = getattr(dyn, label)
        for title, each in ((label, function), (f"{label} by q, v", function.jacobian("q", "v"))):
            arrays = arguments(system, each, seed=len(name))
            digests[f"{title}, batch"] = digest(each(*arrays.values()))
            singles = [each(*(array[k] for array in arrays.values())) for k in range(SINGLES)]
            digests[f"{title}, single"] = "".join(digest(result)[:21] for result in singles)
    return digests


def header() -> dict[str, Any]:
    """Return what may explain a difference; only `fused` is compared."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "llvmlite": llvmlite.__version__}
    target = host()
    return versions | {"triple": target.triple, "doubles": target.register // 8, "fused": target.has_fma}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("robots", nargs="*", help="robots of the zoo; all by default")
    parser.add_argument("--against", type=Path, help="file to compare with")
    options = parser.parse_args()
    names = options.robots or ap.zoo_names()
    computed = {"header": header(), "robots": {name: of_robot(name) for name in names}}
    if options.against is None:
        sys.stdout.write(json.dumps(computed, indent=1) + "\n")
        return 0
    stored = json.loads(options.against.read_text(encoding="utf-8"))
    if stored["header"]["fused"] != computed["header"]["fused"]:
        sys.stdout.write("one of the two machines has no fused multiply-adds: nothing is compared\n")
        return 1
    pairs = [
        (f"{robot}/{key}", value, stored["robots"].get(robot, {}).get(key))
        for robot, digests in computed["robots"].items()
        for key, value in digests.items()
    ]
    differing = [key for key, value, other in pairs if value != other]
    sys.stdout.writelines(f"differs: {key}\n" for key in differing)
    sys.stdout.write(f"{len(pairs) - len(differing)} of {len(pairs)} digests of {len(names)} robots are equal\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
