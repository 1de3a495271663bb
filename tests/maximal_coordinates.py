"""Accelerations of an SDF model at rest, with six coordinates per link: an independent solution for models with loops.

    m a = m g + f      I α = n      for every link, with the forces f, n of all joints as multipliers of their rows

All joints are constraints here; there is no spanning tree, and redundant rows do not matter (least squares). The file
is parsed with ElementTree. Poses of links are those of a configuration at rest, so that velocities do not occur.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

GRAVITY = np.array([0.0, 0.0, -9.81])


class Model:
    """Links and joints of an SDF file whose poses are all relative to the model, or to the child of a joint."""

    def __init__(self, text: str, rounded: bool = False):
        """Parse a file; `rounded` angles near a multiple of π/2 become that multiple."""
        model = ElementTree.fromstring(text).find("model")
        self.se3 = rounded_placement if rounded else placement
        self.links = {link.get("name"): link for link in model.findall("link")}
        self.joints = {joint.get("name"): joint for joint in model.findall("joint")}
        self.start = {name: self.se3(link.findtext("pose")) for name, link in self.links.items()}
        self.start["world"] = pin.SE3.Identity()

    def ends(self, joint: str) -> tuple[str, str]:
        return tuple(self.joints[joint].findtext(tag).strip() for tag in ("parent", "child"))

    def at_start(self, joint: str) -> tuple[pin.SE3, np.ndarray]:
        """Pose of a joint and its axis in the model at the start."""
        element = self.joints[joint]
        pose = self.start[self.ends(joint)[1]] * self.se3(element.findtext("pose"))
        axis = vector(element.findtext("axis/xyz") or "0 0 1")
        in_model = element.findtext("axis/use_parent_model_frame") == "1"
        return pose, axis if in_model else pose.rotation @ axis

    def seen_from(self, link: str, joint: str, poses: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Origin, axis and rotation of a joint that is fixed to a link, for poses of all links."""
        pose, axis = self.at_start(joint)
        moved = poses[link] * self.start[link].inverse()
        return moved.act(pose.translation), moved.rotation @ axis, moved.rotation @ pose.rotation

    def gap(self, joint: str, poses: dict) -> np.ndarray:
        """Violation of a joint: the components of position and axes that it does not leave free."""
        (x, u, R), (y, w, S) = (self.seen_from(link, joint, poses) for link in self.ends(joint))
        kind = self.joints[joint].get("type")
        turned = {"revolute": u - w, "ball": np.zeros(3)}.get(kind, (R - S).ravel())
        if kind == "universal":
            turned = np.array([u @ S @ vector(self.joints[joint].findtext("axis2/xyz"))])
        apart = x - y
        return np.concatenate([apart - (apart @ u) * u if kind == "prismatic" else apart, turned])

    def angle(self, joint: str, poses: dict) -> float:
        """Rotation of the child in the parent about the axis of a hinge."""
        (_, u, R), (_, _, S) = (self.seen_from(link, joint, poses) for link in self.ends(joint))
        return float(pin.log3(S @ R.T) @ u)

    def accelerations(self, poses: dict, forces: dict[str, float], fixed: tuple[str, ...] = ()) -> dict:
        """Accelerations (linear of the origin, angular) of all links at rest, under gravity, springs and forces.

        `forces` act along the axes of joints, by name; links in `fixed` do not move.
        """
        index = {name: 6 * k for k, name in enumerate(self.links)}
        size = 6 * len(index)
        mass, load, rows = np.zeros((size, size)), np.zeros(size), []
        centre = {}
        for name, link in self.links.items():
            k, inertia = index[name], body(link)
            centre[name] = poses[name].act(inertia.lever)
            mass[k : k + 3, k : k + 3] = inertia.mass * np.eye(3)
            mass[k + 3 : k + 6, k + 3 : k + 6] = poses[name].rotation @ inertia.inertia @ poses[name].rotation.T
            load[k : k + 3] = inertia.mass * GRAVITY
            if name in fixed:
                rows += list(np.eye(size)[k : k + 6])

        def relative(joint: str) -> tuple[np.ndarray, np.ndarray]:
            """Matrices of the relative acceleration of the joint's origins, and of the angular acceleration."""
            linear, angular = np.zeros((3, size)), np.zeros((3, size))
            for link, sign in zip(self.ends(joint), (-1.0, 1.0), strict=True):
                if link != "world":
                    k, arm = index[link], self.seen_from(link, joint, poses)[0] - centre[link]
                    linear[:, k : k + 3] += sign * np.eye(3)
                    linear[:, k + 3 : k + 6] -= sign * pin.skew(arm)
                    angular[:, k + 3 : k + 6] += sign * np.eye(3)
            return linear, angular

        for name, joint in self.joints.items():
            linear, angular = relative(name)
            kind, axis = joint.get("type"), self.seen_from(self.ends(name)[0], name, poses)[1]
            across = np.linalg.svd(axis[None])[2][1:]
            if kind == "prismatic":
                rows += [*(across @ linear), *angular]
            elif kind == "universal":
                other = self.seen_from(self.ends(name)[1], name, poses)[2] @ vector(joint.findtext("axis2/xyz"))
                rows += [*linear, np.cross(axis, other) @ angular]
            else:
                rows += list(linear)
                rows += {"ball": [], "revolute": list(across @ angular)}.get(kind, list(angular))
            stiffness = float(joint.findtext("axis/dynamics/spring_stiffness") or 0.0)
            force = forces.get(name, 0.0) - (stiffness * self.angle(name, poses) if stiffness else 0.0)
            load += force * (axis @ (linear if kind == "prismatic" else angular))
        # Gauss: a minimises (a - M⁻¹ f)ᵀ M (a - M⁻¹ f) subject to K a = 0
        L = np.linalg.cholesky(mass)
        unconstrained, scaled_rows = np.linalg.solve(L, load), np.linalg.solve(L, np.array(rows).T).T
        _, sizes, directions = np.linalg.svd(scaled_rows, full_matrices=False)
        blocked = directions[sizes > 1e-8 * sizes[0]]
        a = np.linalg.solve(L.T, unconstrained - blocked.T @ (blocked @ unconstrained))
        result = {}
        for name, k in index.items():
            linear, angular = a[k : k + 3], a[k + 3 : k + 6]
            result[name] = np.concatenate([linear + np.cross(angular, poses[name].translation - centre[name]), angular])
        return result


def vector(text: str) -> np.ndarray:
    """Unit vector along three numbers."""
    numbers = np.array([float(word) for word in text.split()])
    return numbers / np.linalg.norm(numbers)


def placement(text: str | None) -> pin.SE3:
    numbers = [float(word) for word in (text or "0 0 0 0 0 0").split()]
    return pin.SE3(pin.rpy.rpyToMatrix(*numbers[3:]), np.array(numbers[:3]))


def rounded_placement(text: str | None) -> pin.SE3:
    numbers = np.array([float(word) for word in (text or "0 0 0 0 0 0").split()])
    nearest = np.pi / 2 * np.round(numbers[3:] / (np.pi / 2))
    rpy = np.where(np.abs(nearest - numbers[3:]) < 1e-3, nearest, numbers[3:])
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), numbers[:3])


def body(link) -> pin.Inertia:
    entries = {
        ij: float(link.findtext(f"inertial/inertia/i{ij}") or 0.0) for ij in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    tensor = np.array([[entries["".join(sorted(i + j))] for j in "xyz"] for i in "xyz"])
    return pin.Inertia(float(link.findtext("inertial/mass")), np.zeros(3), tensor).se3Action(
        placement(link.findtext("inertial/pose"))
    )
