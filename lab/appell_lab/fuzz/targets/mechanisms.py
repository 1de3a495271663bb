"""Mechanisms of the zoo with random dimensions and masses, compared with the differentiated Gibbs function.

Q is ∂S/∂a and M is ∂²S/∂a², both by differentiation of the tape of S and evaluated by the interpreter; T is ½ vᵀMv.
Poses are near home, where all legs reach. Dimensions that no mechanism can have must be rejected; they are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from appell.compile.tape.evaluate import evaluate
from appell.describe.planar_leg import Links
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell.model.mechanism import Mechanism
from appell_lab.fuzz.target import Case, Target, Verdict

BOUND = {"d": 2.0**-52 * 2.0**16, "f": 2.0**-23 * 2.0**10}  # legs lose digits near the limit of their reach
SAMPLES = 5
MAX_FROM_HOME = 0.03  # rad or m


class Mechanisms(Target):
    """Random mechanisms, compared with their Gibbs function."""

    name = "mechanisms"
    about = "mechanisms of the zoo with random dimensions, compared with the differentiated Gibbs function"
    seconds = 60.0
    megabytes = 2000
    share = 0.5

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 9])
        name = str(rng.choice(["five-bar", "five-bar", "three-rrr", "delta", "agile-wrist"]))
        function = str(rng.choice(["forces", "matrix", "energy"]))
        dtype = "f" if rng.random() < 0.3 else "d"
        return {"mechanism": name, "numbers": _numbers(rng, name), "function": function, "dtype": dtype, "states": seed}

    def check(self, case: Case) -> Verdict:
        try:
            system = _mechanism(case["mechanism"], case["numbers"])
        except AppellError:
            return Verdict(counts={"refused": 1})
        rng = np.random.default_rng([case["states"], 10])
        offsets = MAX_FROM_HOME * rng.uniform(-1, 1, (SAMPLES, system.nq))
        q = np.array([x for x in system.start + offsets if not system.out_of_reach(x.tolist())])
        if not len(q):
            return Verdict(counts={"out of reach": 1})
        v, a = rng.normal(size=(2, len(q), system.nv))
        error = _error(Dynamics(system), case["function"], *(x.astype(case["dtype"]) for x in (q, v, a)))
        name = f"{case['function']}, {np.dtype(case['dtype'])}"
        counts = {case["mechanism"]: 1, case["function"]: 1, "compiled and compared": 1}
        problem = (
            "" if error <= BOUND[case["dtype"]] else f"{name}: error {error:.3g}, bound {BOUND[case['dtype']]:.3g}"
        )
        return Verdict(problem, f"{case['mechanism']} {name}" if problem else "", {name: error}, counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for name in case["numbers"]:
            yield case | {"numbers": {key: value for key, value in case["numbers"].items() if key != name}}


def _numbers(rng: np.random.Generator, name: str) -> dict[str, Any]:
    def size(typical: float) -> float:
        return float(typical * np.exp(rng.normal(0.0, 0.2)))

    def leg(first: float, second: float) -> list[float]:
        return [size(first), size(second), *(10.0 ** rng.uniform(-3, 3, 2)).tolist(), size(0.01)]

    gravity = {"gravity": rng.normal(0.0, 5.0, 3).tolist()}
    match name:
        case "five-bar":
            return {"base": size(0.3), "links": [leg(0.25, 0.4), leg(0.25, 0.4)], **gravity}
        case "three-rrr":
            radii = {"base_radius": size(0.5), "platform_radius": size(0.1)}
            return {**radii, "links": [leg(0.3, 0.3) for _ in range(3)], **gravity}
        case "delta":
            lengths = {"base_radius": 0.2, "platform_radius": 0.05, "arm": 0.3, "forearm": 0.7}
            masses = {"arm_mass": 10.0 ** rng.uniform(-3, 3), "forearm_mass": 10.0 ** rng.uniform(-3, 3)}
            return {key: size(value) for key, value in lengths.items()} | masses | gravity
        case _:
            masses = {"platform_mass": 10.0 ** rng.uniform(-3, 3), "density": size(1.4)}
            return {"radius": size(0.1), "platform_com": (0.02 * rng.normal(size=3)).tolist(), **masses, **gravity}


def _mechanism(name: str, numbers: dict[str, Any]) -> Mechanism:
    arguments = dict(numbers)
    if "links" in arguments:
        arguments["links"] = [Links(*leg) for leg in arguments["links"]]
    return MECHANISMS[name](**arguments)


def _error(dyn: Dynamics, function: str, q, v, a) -> float:
    """Return the largest error, relative to the largest value in the batch."""
    force = dyn.gibbs_function.jacobian("a")
    exact = list(zip(*(x.astype(float) for x in (q, v, a)), strict=True))
    if function == "forces":
        ours, theirs = dyn.generalized_forces(q, v, a), [evaluate(force.tape, *state)[0].ravel() for state in exact]
        return _relative(ours, theirs)
    inertia = force.jacobian("a").tape
    M = [evaluate(inertia, *state)[0].reshape(dyn.system.nv, dyn.system.nv) for state in exact]
    if function == "matrix":
        return _relative(dyn.mass_matrix(q), M)
    return _relative(dyn.energy(q, v)[0], [0.5 * y @ m @ y for (_, y, _), m in zip(exact, M, strict=True)])


def _relative(ours, theirs) -> float:
    theirs = np.array(theirs)
    error = np.abs(np.asarray(ours, float) - theirs).max() / np.abs(theirs).max()
    return float(error) if np.isfinite(error) else np.inf
