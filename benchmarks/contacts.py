"""Contacts as data against Pinocchio's `constraintDynamics` and its derivatives: python benchmarks/contacts.py.

Talos on two soles and two hands (18 rows) and Go2 on four feet (12 rows), with four, two and no active contacts. One
process on one core; both sides alternate; processor time, best of several turns. appell computes a batch in one call
with `out=`, Pinocchio in a Python loop over its states, with one proximal iteration (mu = 1e-10). Both must agree
before they are timed. Compile times are those of new processes with an empty cache folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.references.contact_peer import CONTACTS, ContactPeer, urdf
from appell_lab.references.oracle import pinocchio

ROBOTS = ("talos", "go2")
SETS = {"four": [1, 1, 1, 1], "two": [1, 1, 0, 0], "none": [0, 0, 0, 0]}
AIMS = {  # ratios to Pinocchio with four active contacts, and processor time of a first call
    "talos": {"forward dynamics": 20, "derivatives": 6, "derivatives without forces": 8, "gradient": 45},
    "go2": {"forward dynamics": 25, "derivatives": 10, "derivatives without forces": 14, "gradient": 45},
    "talos, single": {"forward dynamics": 4, "derivatives": 2},
    "go2, single": {"forward dynamics": 4, "derivatives": 3},
    "talos, compile in s": {"forward dynamics": 3, "derivatives": 10},
}
AGREEMENT = 1e-9  # relative to the largest entry
BATCH_SIZE, TIMED_TURNS = 512, 7
LOOP = "for i in range(N): f(model, data, q[i], v[i], tau[i], contacts, terms, settings)"
FIRST_CALL = """
import sys, time, json
sys.path.insert(0, {folder!r})
import contacts as script
peer = script.peer({name!r})
con = peer.contacts
states = script.states(peer, 1)
start = time.process_time()
script.FUNCTIONS[{function!r}](con)(*states, *script.weights(con, 1, {function!r}))
print(time.process_time() - start)
"""


def peer(name: str) -> ContactPeer:
    """Return a robot in both libraries."""
    return ContactPeer(urdf(name), CONTACTS[name], mu=1e-10, iterations=1)


def states(robot: ContactPeer, count: int) -> list[np.ndarray]:
    """Return random states near the footholds: q, v, tau, footholds, active, gains."""
    rng, con, pin = np.random.default_rng(1), robot.contacts, pinocchio()
    q0 = pin.neutral(robot.model)
    q = np.array([pin.integrate(robot.model, q0, 0.5 * rng.normal(size=robot.model.nv)) for _ in range(count)])
    v, tau = (scale * rng.normal(size=(count, robot.model.nv)) for scale in (0.5, 5.0))
    return [q, v, tau, con.poses(q), np.ones((count, 4)), np.zeros((count, 2))]


FUNCTIONS = {
    "forward dynamics": lambda con: con.forward_dynamics,
    "derivatives": lambda con: con.derivatives("q", "v", "tau"),
    "derivatives without forces": lambda con: con.derivatives("q", "v", "tau", forces=False),
    "gradient": lambda con: con.gradient("q", "v", "tau"),
}


def weights(con, count: int, function: str) -> list[np.ndarray]:
    """Return the further arguments of the gradient."""
    shapes = (
        {array.name: array.shape for array in con.gradient("q", "v", "tau").inputs} if function == "gradient" else {}
    )
    return [np.ones((count, *shapes[name])) for name in ("weights_a", "weights_force") if name in shapes]


def main(count: int = BATCH_SIZE, turns: int = TIMED_TURNS) -> None:
    result: dict[str, object] = {"machine": machine(), "versions": versions(), "aims": AIMS}
    with one_core():
        for name in ROBOTS:
            robot = peer(name)
            result[name] = {label: measure(robot, active, count, turns) for label, active in SETS.items()}
            result[name] |= {"compile, s": {title: first_call(name, title) for title in FUNCTIONS}}  # type: ignore[operator]
            print(name, json.dumps(result[name], indent=1), flush=True)
    path = Path(__file__).parent / "results" / "contacts.json"
    path.write_text(json.dumps(result, indent=1) + "\n")


def measure(robot: ContactPeer, active: list[int], count: int, turns: int) -> dict[str, object]:
    """Return times per sample in µs, and ratios to Pinocchio, of one active set."""
    con, pin = robot.contacts, pinocchio()
    given = states(robot, count)
    given[4][:] = active
    q, v, tau, footholds = given[:4]
    check(robot, [x[:4] for x in given])
    models, terms, settings = robot.set(footholds[0], active, (0.0, 0.0))
    data = robot.model.createData()
    pin.initConstraintDynamics(robot.model, data, models, terms)

    def both(model, data, q, v, tau, contacts, terms, settings) -> None:
        pin.constraintDynamics(model, data, q, v, tau, contacts, terms, settings)
        pin.computeConstraintDynamicsDerivatives(model, data, contacts, terms, settings)

    names = {"model": robot.model, "data": data, "contacts": models, "terms": terms, "settings": settings}
    names |= {"q": q, "v": v, "tau": tau, "N": min(count, 64)}
    timed = {
        "theirs": TimedStatement(LOOP, names | {"f": pin.constraintDynamics}),
        "theirs with derivatives": TimedStatement(LOOP, names | {"f": both}),
    }
    for title, make in FUNCTIONS.items():
        function = make(con)
        arguments = [*given, *weights(con, count, title)]
        batch = {"f": function, "x": arguments, "out": tuple(map(np.array, function(*arguments)))}
        timed[title] = TimedStatement("f(*x, out=out)", batch)
        timed[f"{title}, single"] = TimedStatement("f(*x)", {"f": function, "x": [x[0] for x in arguments]})
    best = {title: timing.best * 1e6 for title, timing in time_in_turns(timed, turns).items()}
    figures: dict[str, object] = {}
    theirs = best["theirs"] / names["N"], best["theirs with derivatives"] / names["N"]  # type: ignore[operator]
    figures["Pinocchio, µs"] = dict(zip(("forward dynamics", "with derivatives"), map(_rounded, theirs), strict=True))
    for title in FUNCTIONS:
        against = theirs[title != "forward dynamics"]
        ours, single = best[title] / count, best[f"{title}, single"]
        figures[title] = {"batch, µs": _rounded(ours), "batch, x": _rounded(against / ours)}
        figures[title] |= {"single, µs": _rounded(single), "single, x": _rounded(against / single)}  # type: ignore[operator]
    return figures


def check(robot: ContactPeer, given: list[np.ndarray]) -> None:
    """Raise an error unless both libraries agree."""
    precise = ContactPeer(robot.urdf, robot.frames)
    con = robot.contacts
    function = con.derivatives("q", "v", "tau")
    for sample in zip(*given, strict=True):
        ours = dict(zip((array.name for array in function.outputs), function(*sample), strict=True))
        expected = dict(zip(("a", "force"), precise.dynamics(*sample), strict=True)) | {
            key: value for key, value in precise.derivatives(*sample).items() if key.startswith("da")
        }
        for key, value in expected.items():
            error = np.abs(ours[key] - value).max(initial=0.0) / np.abs(value).max(initial=1.0)
            if not error <= AGREEMENT:
                raise SystemExit(f"{key} differs from Pinocchio by {error:.1e} of its largest entry; nothing is timed.")


def first_call(name: str, title: str) -> float:
    """Return the processor time of tracing, compiling and calling a function in a new process, s."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"APPELL_CACHE": folder}
        code = FIRST_CALL.format(folder=str(Path(__file__).parent), name=name, function=title)
        process = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
        )
    return _rounded(float(process.stdout.split()[-1]))


def _rounded(x: float) -> float:
    return float(f"{x:.3g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
