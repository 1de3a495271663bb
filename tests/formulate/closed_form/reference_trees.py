"""The mechanisms of the zoo, built in Pinocchio from their dimensions, as trees with loops to close.

`judge.loops` is the tree, `judge.guess(q, theta)` gives the joints of its legs by plain geometry. Bodies are taken by
name from the mechanism, so that they can have any inertia.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import array, cos, sin

from formulate.closed_form.reference_loops import Loops


@dataclass(frozen=True)
class Judge:
    loops: Loops
    guess: object


def rot(axis, angle):
    c, s = cos(angle), sin(angle)
    return {
        "x": array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


def zyx(yaw, pitch, roll):
    return rot("z", yaw) @ rot("y", pitch) @ rot("x", roll)


def parameters(mechanism):
    return {name: body.parameters for name, body in mechanism.bodies.items()}


def planar_legs(loops, bodies, names, motors, lengths, pins, platform):
    for name, motor, pin in zip(names, motors, pins, strict=True):
        loops.add(f"theta {name}", None, "RZ", translation=(*motor, 0), parameters=bodies[f"first_link_{name}"])
        loops.add(
            f"elbow {name}",
            f"theta {name}",
            "RZ",
            translation=(lengths[0], 0, 0),
            parameters=bodies[f"second_link_{name}"],
        )
        loops.hold(f"elbow {name}", (lengths[1], 0, 0), platform, (*pin, 0))
        loops.actuators.append(f"theta {name}")


def planar_guess(names, motors, lengths, pin_of):
    def guess(q, theta):
        joints = {}
        for k, (name, motor) in enumerate(zip(names, motors, strict=True)):
            rest = pin_of(q, k) - array(motor) - lengths[0] * array([cos(theta[k]), sin(theta[k])])
            joints[f"theta {name}"] = theta[k]
            joints[f"elbow {name}"] = np.arctan2(rest[1], rest[0]) - theta[k]
        return joints

    return guess


def five_bar(mechanism, base=0.3, lengths=(0.25, 0.4)):
    loops, names, motors = Loops(mechanism.gravity), ("left", "right"), ((-base / 2, 0), (base / 2, 0))
    loops.add("x", None, "PX")
    loops.add("y", "x", "PY")
    planar_legs(loops, parameters(mechanism), names, motors, lengths, ((0, 0), (0, 0)), "y")
    return Judge(loops, planar_guess(names, motors, lengths, lambda q, k: q))


def three_rrr(mechanism, base=0.5, platform=0.1, lengths=(0.3, 0.3)):
    loops, names = Loops(mechanism.gravity), ("leg_1", "leg_2", "leg_3")
    angles = np.radians([-150.0, -30.0, 90.0])
    motors, pins = (r * np.stack([cos(angles), sin(angles)], axis=-1) for r in (base, platform))
    loops.add("x", None, "PX")
    loops.add("y", "x", "PY")
    loops.add("angle", "y", "RZ", parameters=parameters(mechanism)["platform"])
    planar_legs(loops, parameters(mechanism), names, motors, lengths, pins, "angle")
    return Judge(loops, planar_guess(names, motors, lengths, lambda q, k: q[:2] + rot("z", q[2])[:2, :2] @ pins[k]))


def delta(mechanism, base=0.2, platform=0.05, arm=0.3, forearm=0.7):
    loops, bodies = Loops(mechanism.gravity), parameters(mechanism)
    loops.add("x", None, "PX")
    loops.add("y", "x", "PY")
    loops.add("z", "y", "PZ", parameters=bodies["platform"])
    turns = [rot("z", angle) for angle in np.radians([0.0, 120.0, 240.0])]
    for k, turn in enumerate(turns, start=1):
        loops.add(f"hip{k}", None, "RY", turn, turn @ [base, 0, 0], bodies[f"arm_{k}"])
        loops.add(f"swing{k}", f"hip{k}", "RY", translation=(arm, 0, 0))
        loops.add(f"hinge{k}", f"swing{k}", "RZ", parameters=bodies[f"forearm_{k}"])
        loops.hold(f"hinge{k}", (forearm, 0, 0), "z", turn @ [platform, 0, 0])
        loops.actuators.append(f"hip{k}")

    def guess(q, theta):
        joints = {}
        for k, turn in enumerate(turns, start=1):
            angle = theta[k - 1]
            rest = turn.T @ q + [platform - base, 0, 0] - rot("y", angle) @ [arm, 0, 0]
            joints[f"hip{k}"] = angle
            joints[f"swing{k}"] = np.arctan2(-rest[2], rest[0]) - angle
            joints[f"hinge{k}"] = np.arcsin(rest[1] / forearm)
        return joints

    return Judge(loops, guess)


def stewart_gough(mechanism, anchors=None, tips=None):
    """Joints in pairs on circles of 0.5 and 0.3 m, 20° and 100° apart, or at six given points each."""
    loops, bodies = Loops(mechanism.gravity), parameters(mechanism)
    for name, parent in zip(("PX", "PY", "PZ", "RZ", "RY"), (None, "PX", "PY", "PZ", "RZ"), strict=True):
        loops.add(name, parent, name)
    loops.add("RX", "RY", "RX", parameters=bodies["platform"])
    if anchors is None:
        angles = [np.radians([120 * k + s * spread / 2 for k in range(3) for s in (-1, 1)]) for spread in (20.0, 100.0)]
        anchors, tips = (
            r * np.stack([cos(t), sin(t), 0 * t], axis=-1) for r, t in zip((0.5, 0.3), angles, strict=True)
        )
    axes = [rot("z", np.arctan2(anchor[1], anchor[0]) + np.pi / 2) for anchor in anchors]
    for k, (anchor, tip, turn) in enumerate(zip(anchors, tips, axes, strict=True), start=1):
        loops.add(f"tilt{k}", None, "RX", turn, anchor)
        loops.add(f"nod{k}", f"tilt{k}", "RY", parameters=bodies[f"cylinder_{k}"])
        loops.add(f"length{k}", f"nod{k}", "PZ", parameters=bodies[f"piston_{k}"])
        loops.hold(f"length{k}", (0, 0, 0), "RX", tip)
        loops.actuators.append(f"length{k}")

    def guess(q, theta):
        joints = {}
        for k, (anchor, tip, turn) in enumerate(zip(anchors, tips, axes, strict=True), start=1):
            s = turn.T @ (q[:3] + zyx(*q[3:]) @ tip - anchor)
            joints[f"tilt{k}"] = np.arctan2(-s[1], s[2])
            joints[f"nod{k}"] = np.arcsin(s[0] / np.linalg.norm(s))
            joints[f"length{k}"] = theta[k - 1]
        return joints

    return Judge(loops, guess)


def agile_wrist(mechanism, alpha1=80.0, alpha2=70.0):
    loops, bodies = Loops(mechanism.gravity), parameters(mechanism)
    a1, a2 = np.radians([alpha1, alpha2])
    gamma, beta = np.arccos(np.sqrt(3) / 3), np.arcsin(np.sqrt(3) / 3)
    loops.add("RZ", None, "RZ")
    loops.add("RY", "RZ", "RY")
    loops.add("RX", "RY", "RX", parameters=bodies["platform"])
    bases = [rot("z", t) @ rot("x", gamma - np.pi) for t in np.radians([0.0, 120.0, 240.0])]
    seats = [rot("z", t) @ rot("x", -beta) @ [0, 0, 1] for t in np.radians([0.0, 120.0, 240.0])]
    for k, (base, seat) in enumerate(zip(bases, seats, strict=True), start=1):
        loops.add(f"theta{k}", None, "RZ", base, parameters=bodies[f"first_arc_{k}"])
        loops.add(f"psi{k}", f"theta{k}", "RZ", rot("x", a1), parameters=bodies[f"second_arc_{k}"])
        loops.hold(f"psi{k}", (0, -sin(a2), cos(a2)), "RX", seat)
        loops.actuators.append(f"theta{k}")

    def guess(q, theta):
        joints = {}
        for k, (base, seat) in enumerate(zip(bases, seats, strict=True), start=1):
            x, y, _ = (base @ rot("z", theta[k - 1]) @ rot("x", a1)).T @ zyx(*q) @ seat
            joints[f"theta{k}"], joints[f"psi{k}"] = theta[k - 1], np.arctan2(x, -y)
        return joints

    return Judge(loops, guess)


JUDGES = {
    "agile-wrist": agile_wrist,
    "five-bar": five_bar,
    "three-rrr": three_rrr,
    "delta": delta,
    "stewart-gough": stewart_gough,
}
