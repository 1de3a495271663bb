"""A parallel robot: the Agile Wrist's motor torques in closed form, against Pinocchio with the loops closed by forces.

In Pinocchio the wrist is a tree of nine joints, and with K the Jacobian of the loops' gaps the torques follow from

    rnea(y, ẏ, ÿ) = Sᵀτ + Kᵀλ                                                                                   (1)

Positions, velocities and accelerations of the passive joints are given to Pinocchio before the clock starts; the closed
form computes them. Two gaps a loop are enough, square to the platform's axis, so (1) has nine unknowns.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from appell.describe.zoo.mechanisms import agile_wrist
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell.lab.bench.aims import aim
from appell.lab.bench.clock import Contestant, compete
from appell.lab.bench.figure import Figure
from appell.lab.bench.subject import pinocchio
from appell.model.body import Body
from appell.model.mechanism import Mechanism

AGREEMENT = 1e-9  # N m
JUDGED = 64
SPREAD = 0.4  # rad about home, where every leg reaches


class LoopPeer:
    """The wrist in Pinocchio: a tree, and points of it that coincide."""

    def __init__(self, wrist: Mechanism):
        pin = self.pin = pinocchio()
        model = self.model = pin.Model()
        model.gravity.linear = np.array(list(wrist.gravity))
        self.seats, self.motors = [], []
        assert wrist.design is not None
        *arcs, platform_body = wrist.bodies.values()
        for k, leg in enumerate(wrist.design.legs):
            bend = pin.SE3(pin.utils.rotate("x", leg.alpha1), np.zeros(3))
            base = pin.SE3(np.array([list(row) for row in leg.base.rows]), np.zeros(3))
            first = self._add(0, pin.JointModelRZ(), base, f"theta{k}", arcs[2 * k])
            second = self._add(first, pin.JointModelRZ(), bend, f"psi{k}", arcs[2 * k + 1])
            end = np.array([0.0, -math.sin(leg.alpha2), math.cos(leg.alpha2)])
            self.seats.append((second, end, np.array(list(leg.v_star))))
            self.motors.append(model.joints[first].idx_v)
        platform = self._add(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "platform", platform_body)
        self.pairs, self.tangents = [], []
        for k, (second, end, seat) in enumerate(self.seats):
            across = np.linalg.svd(seat[None])[2][1:]
            self.pairs.append((self._point(f"end{k}", second, end), self._point(f"seat{k}", platform, seat)))
            self.tangents.append(across)
        self.platform = platform
        self.data = model.createData()

    def _add(self, parent, joint, placement, name: str, body: Body | None) -> int:
        number = self.model.addJoint(parent, joint, placement, name)
        parameters = np.array(body.parameters if body else np.zeros(10))
        inertia = self.pin.Inertia.FromDynamicParameters(parameters)
        self.model.appendBodyToJoint(number, inertia, self.pin.SE3.Identity())
        return number

    def _point(self, name: str, joint: int, at: np.ndarray) -> int:
        place = self.pin.SE3(np.eye(3), at)
        return self.model.addFrame(self.pin.Frame(name, joint, 0, place, self.pin.FrameType.OP_FRAME))

    def torques(self, y: np.ndarray, rate: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """τ of (1)."""
        pin, model, data = self.pin, self.model, self.data
        forces = pin.rnea(model, data, y, rate, gain)
        pin.computeJointJacobians(model, data, y)
        pin.updateFramePlacements(model, data)
        held = np.zeros((9, 9))
        R = data.oMi[self.platform].rotation.T
        for k, ((end, seat), across) in enumerate(zip(self.pairs, self.tangents, strict=True)):
            held[self.motors[k], k] = 1.0
            J = pin.getFrameJacobian(model, data, end, pin.LOCAL_WORLD_ALIGNED)[:3]
            H = pin.getFrameJacobian(model, data, seat, pin.LOCAL_WORLD_ALIGNED)[:3]
            held[:, 3 + 2 * k : 5 + 2 * k] = (across @ (R @ (J - H))).T
        return np.linalg.solve(held, forces)[:3]


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Time for a sample, and its ratio to Pinocchio's."""
    mechanism = agile_wrist()
    wrist, peer = Dynamics(mechanism), LoopPeer(mechanism)
    rng = np.random.default_rng(1)
    q = rng.uniform(-SPREAD, SPREAD, (count, 3))
    v, a = rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    legs = np.array([0, 3, 1, 4, 2, 5])  # joint_motion has all θ first, the tree has them leg by leg
    joints = wrist.joint_motion(q, v, a)
    y, rate, gain = (np.hstack([joint[:, legs], own]) for joint, own in zip(joints, (q, v, a), strict=True))
    judged = np.array([peer.torques(*state) for state in zip(y[:JUDGED], rate[:JUDGED], gain[:JUDGED], strict=True)])
    error = np.abs(wrist.inverse_dynamics(q[:JUDGED], v[:JUDGED], a[:JUDGED]) - judged).max()
    if not error <= AGREEMENT:
        raise AppellError(f"the Agile Wrist's torques are {error:.1e} N m from Pinocchio's; they are not timed.")

    own = {"f": wrist.inverse_dynamics, "q": q, "v": v, "a": a, "out": np.empty((count, 3))}
    other = {"f": peer.torques, "y": y, "rate": rate, "gain": gain, "N": count}
    timings = compete(
        {
            "theirs": Contestant("[f(y[i], rate[i], gain[i]) for i in range(N)]", other),
            "ours": Contestant("f(q, v, a, out=out)", own),
        },
        turns,
        tick,
    )
    ours, theirs = timings["ours"].best / count, timings["theirs"].best / count
    details = {f"{name}_median": timing.median / count for name, timing in timings.items()} | {
        "agreement": float(error)
    }
    part, robot = "parallel", "agile-wrist"
    return [
        Figure(part, robot, "sample", "torques of the Agile Wrist, a sample", ours, "s", aim(part, robot, "sample")),
        Figure(
            part,
            robot,
            "inverse_dynamics",
            "inverse dynamics, against closed loops",
            theirs / ours,
            "x",
            aim(part, robot, "inverse_dynamics"),
            ours,
            theirs,
            details,
        ),
    ]
