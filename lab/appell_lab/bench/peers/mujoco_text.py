"""Write a robot as MJCF for MuJoCo: the same bodies, joints and gravity, without contact geometry.

MuJoCo's free joint has its linear velocity in world axes and its angular velocity in body axes; in appell both are in
body axes. With R the rotation of the base, v_world = R v and v̇_world = R (a + ω × v): states are converted before
timing starts, and forces are converted back by Rᵀ.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from appell.model.robot import Link, Robot
from appell_lab.bench.peers.peer import PeerUnavailableError

KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "floating": "free"}


def mjcf(robot: Robot) -> str:
    """Return the robot as text for `mj_loadXML`."""
    children: dict[str | None, list[Link]] = {}
    for link in robot.links:
        children.setdefault(link.parent, []).append(link)
    bodies = "".join(_body(link, children) for link in children[None])
    gravity = _numbers(list(robot.gravity))
    return (
        f'<mujoco><compiler angle="radian" autolimits="false" inertiafromgeom="false"/>'
        f'<option gravity="{gravity}"><flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{bodies}</worldbody></mujoco>\n"
    )


def _body(link: Link, children: dict[str | None, list[Link]]) -> str:
    motion, placement = link.joint.motion, link.joint.placement
    if motion.name not in KINDS or link.joint.mimic:
        raise PeerUnavailableError(
            f"joint '{link.joint.name}' is {motion.name}, which the MuJoCo driver does not support."
        )
    if link.body is None:
        raise PeerUnavailableError(f"link '{link.name}' is massless, which MuJoCo does not accept.")
    kind = KINDS[motion.name]
    axis = "" if kind == "free" else f' axis="{_numbers(list(motion.axis))}"'  # type: ignore[attr-defined]
    rotation = np.array([list(row) for row in placement.rotation.rows], float)
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    I = link.body.inertia
    inertia = _numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    content = "".join(_body(child, children) for child in children.get(link.name, []))
    return (
        f'<body name="{link.name}" pos="{_numbers(list(placement.translation))}" quat="{_numbers([w, x, y, z])}">'
        f'<joint name="{link.joint.name}" type="{kind}"{axis}/>'
        f'<inertial pos="{_numbers(list(link.body.com))}" mass="{link.body.mass!r}" fullinertia="{inertia}"/>'
        f"{content}</body>"
    )


def _numbers(values) -> str:
    return " ".join(repr(float(x)) for x in values)
