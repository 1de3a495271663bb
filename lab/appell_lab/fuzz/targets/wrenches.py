"""Wrenches on frames with hostile names, compared with Pinocchio.

    τ = rnea(q, v, a) - Σ Jᵀ f        ∂τ/∂f = -Jᵀ        ∂τ/∂q, ∂τ/∂v: extrapolated differences of Pinocchio's τ

Names are those of arguments and results (q, v, a, tau, parameters, ...), of other wrenches, and texts that are not
identifiers. Formulas run in the interpreter; one case in ten is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell.dynamics.derivatives import wrench_name
from appell.model.frame import Frame
from appell_lab.fuzz.random_robots import fewer_links, random_links
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.fuzz.targets.names import random_name
from appell_lab.references.peer_tree import PeerTree, our_robot, pinocchio, rotation

BOUND = 2.0**-52 * 2.0**14  # relative to the largest term
DIFFERENCE_BOUND = 1e-7
STEP = 1e-3  # of differences, rad or m
NAMES = (
    "q", "v", "a", "tau", "wrench", "wrench_q", "wrench_wrench_q", "parameters", "prescribed", "t", "out", "self", "f",
    "left foot", "left-foot", "a b", "1", "Größe", "class", "None", "dtau_dq", "M", "qdot",
)  # fmt: skip
AXES = ("LOCAL", "LOCAL_WORLD_ALIGNED", "WORLD")


class Wrenches(Target):
    """Wrenches on frames with hostile names."""

    name = "wrenches"
    about = "wrenches on frames with hostile names: forces and derivatives, compared with Pinocchio"
    seconds = 60.0
    megabytes = 2000
    share = 0.5

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 35])
        links = random_links(rng, 3, ordinary=True)
        frames: dict[str, dict] = {}
        for _ in range(int(rng.integers(1, 4))):
            name = str(rng.choice(NAMES)) if rng.random() < 0.7 else random_name(rng).strip()
            if name and name.isprintable() and not name.startswith("link"):
                pose = {"xyz": rng.uniform(-0.5, 0.5, 3).tolist(), "turn": rng.normal(size=4).tolist()}
                frames[name] = {"link": int(rng.integers(len(links))), **pose}
        choice = {"reference": str(rng.choice(AXES)), "compiled": bool(rng.random() < 0.1), "states": seed}
        return {**choice, "links": links, "gravity": rng.normal(0.0, 5.0, 3).tolist(), "frames": frames}

    def check(self, case: Case) -> Verdict:
        if not case["frames"]:
            return Verdict(counts={"no frame": 1})
        errors = Pushed(case).errors()
        counts = {"wrenches": len(case["frames"]), case["reference"]: 1, "compared": 1}
        for name, value in errors.items():
            bound = DIFFERENCE_BOUND if "difference" in name else BOUND
            if not value <= bound:
                return Verdict(f"{name}: error {value:.3g}, bound {bound:.3g}", name, errors)
        return Verdict(figures=errors, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        frames = case["frames"]
        for name in frames if len(frames) > 1 else ():
            yield case | {"frames": {key: x for key, x in frames.items() if key != name}}
        if not any(frame["link"] for frame in frames.values()):
            for links in fewer_links(case["links"]):
                yield case | {"links": links}


class Pushed:
    """A robot with wrenches on frames, and its reference."""

    def __init__(self, case: Case):
        robot, rng = our_robot(case["links"], case["gravity"]), np.random.default_rng([case["states"], 36])
        self.frames, self.reference, self.compiled = case["frames"], case["reference"], case["compiled"]
        frames = [
            Frame(name, f"link{x['link']}", Pose(of_quaternion(*x["turn"]), Vec3.of(x["xyz"])))
            for name, x in self.frames.items()
        ]
        self.robot = robot.with_frames(frames)
        self.peer = PeerTree(case["links"], case["gravity"], self.robot)
        self.dyn = Dynamics(self.robot, wrenches=list(self.frames), reference=self.reference)
        self.q = self.robot.random_configuration(rng, within_limits=False)
        self.v, self.a = rng.normal(size=(2, self.robot.nv))
        self.f = rng.normal(size=(len(self.frames), 6))

    def errors(self) -> dict[str, float]:
        """Return the largest errors by name."""
        function, J = self.dyn.inverse_dynamics, self._jacobians(self.q)
        (tau,) = self._values(function)
        expected = self._forces(self.q, self.v)
        terms = float(np.abs(self.peer.rounding_terms(self.q, self.v, self.a)).max(initial=1.0) + np.abs(self.f).sum())
        errors = {"forces": _largest(tau - expected) / terms}
        names = [wrench_name(self.robot.frame(name)) for name in self.frames]
        for one, expected_rate in zip(self._values(function.jacobian(*names)), J, strict=True):
            errors["derivatives by a wrench"] = max(
                errors.get("derivatives by a wrench", 0.0), _largest(one + expected_rate.T) / (1 + _largest(J))
            )
        by_q, by_v = self._values(function.jacobian("q", "v"))
        steps = np.eye(self.robot.nv)
        slopes = np.array(
            [_slope(lambda h, e=e: self._forces(self.robot.integrate(self.q, h * e), self.v)) for e in steps]
        )
        errors["derivatives by q, difference"] = _largest(by_q - slopes.T) / (terms + _largest(slopes))
        slopes = np.array([_slope(lambda h, e=e: self._forces(self.q, self.v + h * e)) for e in steps])
        errors["derivatives by v, difference"] = _largest(by_v - slopes.T) / (terms + _largest(slopes))
        return errors

    def _values(self, function: Function) -> list[np.ndarray]:
        """Return the results, by the interpreter or compiled, with arguments by position or by name."""
        arguments = [self.q, self.v, self.a, *self.f]
        if not self.compiled:
            return list(evaluate(function.tape, *arguments))
        named = dict(zip((array.name for array in function.inputs), arguments, strict=True))
        returned, again = function(*arguments), function(**named)
        results = [returned] if isinstance(returned, np.ndarray) else list(returned)
        for one, other in zip(results, [again] if isinstance(again, np.ndarray) else again, strict=True):
            np.testing.assert_array_equal(one, other)
        return results

    def _forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        pushed = sum(J.T @ f for J, f in zip(self._jacobians(q), self.f, strict=True))
        return self.peer.inverse_dynamics(q, v, self.a) - pushed

    def _jacobians(self, q: np.ndarray) -> list[np.ndarray]:
        pin, peer, jacobians = self.peer.pin, self.peer, []
        pin.computeJointJacobians(peer.model, peer.data, peer.q(q))
        for frame in self.frames.values():
            at = pin.SE3(rotation(frame["turn"]), np.array(frame["xyz"], float))
            joint = peer.model.getJointId(f"joint{frame['link']}")
            axes = getattr(pin, self.reference)
            jacobians.append(np.reshape(pin.getFrameJacobian(peer.model, peer.data, joint, at, axes), (6, -1)) @ peer.G)
        return jacobians


def _largest(array) -> float:
    size = float(np.abs(np.asarray(array, float)).max(initial=0.0))
    return size if np.isfinite(size) else np.inf


def _slope(function) -> np.ndarray:
    """Return the derivative at 0, extrapolated from two central differences."""
    wide, narrow = ((function(h) - function(-h)) / (2 * h) for h in (STEP, STEP / 2))
    return (4 * narrow - wide) / 3
