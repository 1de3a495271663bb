"""Bodies and joints of a compiled model, as links.

MuJoCo turns a body by its joints in order, each about an anchor p fixed in the body:

    T_body = T_parent · B · Π ( Trans(p) Rot(axis, q - ref) Trans(-p) )      or   Trans(axis (q - ref))          (1)

so k joints are k links, the first k - 1 without mass, each standing at its anchor, and `ref` is a turn back in the
placement: q is MuJoCo's qpos. The last link bears the name of the body if their frames coincide; if the anchor is off
the body's origin, the name is a frame, and so the pose of "torso" is MuJoCo's xpos and xmat in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.scalar import snap
from appell.algebra.vector import ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.mjcf.drives import Motors, drive
from appell.describe.mjcf.engine import is_off, word
from appell.describe.mjcf.findings import Findings
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import Floating, Motion, Prismatic, Revolute, Spherical
from appell.model.limits import NO_LIMITS, Limits

Stand = tuple[str | None, Pose]  # the link (or the world) that carries a body, and the body's place on it


class ModelTree:
    """Adds the bodies of a model to a builder, and remembers where each stands."""

    def __init__(self, found: Findings, builder: Builder, driven: Motors):
        self.found, self.builder, self.driven = found, builder, driven
        self.stands: dict[int, Stand] = {0: (None, IN_PLACE)}
        self.joint_names = unique(found.name("joint", k) for k in range(found.model.njnt))
        self.body_names = unique(found.name("body", k) for k in range(found.model.nbody))
        for body in range(1, found.model.nbody):
            self._add(body)
        taken = {"world", *(part.name for part in builder.parts), *(frame.name for frame in builder.frames)}
        self.site_names = unique((found.name("site", k) for k in range(found.model.nsite)), taken, "_site")
        for k, name in enumerate(self.site_names):
            carrier, place = self.site(k)
            builder.frame(name, on=carrier, at=place, where=found.where("site", k))

    def _add(self, body: int) -> None:
        model, builder, found = self.found.model, self.builder, self.found
        name, where = self.body_names[body], found.where("body", body)
        carrier, place = self.stands[int(model.body_parentid[body])]
        place = _joined(place, quaternion_pose(model.body_pos[body], model.body_quat[body]))
        matter, count = _matter(model, body), int(model.body_jntnum[body])
        if not count:
            builder.fixed(name, parent=carrier, at=place, body=matter, joint_name=f"{name}/fixed", where=where)
            self.stands[body] = name, IN_PLACE
            return
        anchor, offset, bare = ZERO, IN_PLACE, True  # where the last link stands in the body, and the body on it
        for step in range(count):
            joint = int(model.body_jntadr[body]) + step
            motion, there = self._motion(joint), _vector(model.jnt_pos[joint])
            if isinstance(motion, Floating):
                place, there = IN_PLACE, ZERO  # qpos says where it is in the world
            if isinstance(motion, Prismatic):
                there = anchor  # a slide has no anchor
            place = _joined(place, Pose(IDENTITY, there - anchor), self._back(joint, motion))
            last = step == count - 1
            bare = last and there == ZERO
            link = name if bare else f"{name}/{self.joint_names[joint]}"
            offset = Pose(IDENTITY, -there)
            builder.link(
                link,
                motion,
                parent=carrier,
                at=place,
                **({"body": matter.moved(offset)} if last and matter is not None else {"mass": 0.0}),
                joint_name=self.joint_names[joint],
                limits=self._limits(joint, motion),
                actuator=drive(found, joint, self.driven.get(joint, [])),
                where=found.where("joint", joint),
                body_where=where,
            )
            carrier, place, anchor = link, IN_PLACE, there
        if not bare:
            builder.frame(name, on=carrier, at=offset, where=where)
        self.stands[body] = carrier, offset

    def _motion(self, joint: int) -> Motion:
        model = self.found.model
        kind, axis = word("mjtJoint", model.jnt_type[joint]), _vector(model.jnt_axis[joint])
        if kind in ("free", "ball"):
            return Floating() if kind == "free" else Spherical()
        return Prismatic(axis) if kind == "slide" else Revolute(axis)

    def _back(self, joint: int, motion: Motion) -> Pose:
        """The motion that takes `ref` back, so that the joint stands where MuJoCo has it at qpos = ref."""
        model = self.found.model
        ref = float(model.qpos0[model.jnt_qposadr[joint]])
        if motion.nq != 1 or ref == 0.0:
            return IN_PLACE
        return motion.pose([-ref])

    def _limits(self, joint: int, motion: Motion) -> Limits:
        model = self.found.model
        if not model.jnt_limited[joint] or is_off(model, "limit"):
            return NO_LIMITS
        if motion.nq != 1:
            self.found.note(f"the limits of joint '{self.joint_names[joint]}', which is a ball")
            return NO_LIMITS
        lower, upper = (float(x) for x in model.jnt_range[joint])
        return Limits(lower, upper)

    # ---- places on bodies

    def place(self, body: int, pose: Pose) -> Stand:
        """The link that carries a body, and a place of the body on it."""
        carrier, offset = self.stands[body]
        return carrier, _joined(offset, pose)

    def site(self, number: int) -> Stand:
        model = self.found.model
        return self.place(
            int(model.site_bodyid[number]), quaternion_pose(model.site_pos[number], model.site_quat[number])
        )


def unique(names: Iterable[str], taken: Iterable[str] = (), suffix: str = "_") -> list[str]:
    """The names, each once: one that was there before gets a suffix."""
    seen, found = set(taken), []
    for name in names:
        while name in seen:
            name += suffix
        seen.add(name)
        found.append(name)
    return found


def _joined(*poses: Pose) -> Pose:
    whole = IN_PLACE
    for pose in poses:
        if pose != IN_PLACE:
            whole = pose if whole == IN_PLACE else whole @ pose
    return Pose(Mat3.of([snap(x) for x in row] for row in whole.rotation.rows), whole.translation)


def _vector(numbers: Any) -> Vec3:
    return Vec3.of([float(x) for x in numbers])


def quaternion_pose(position: Any, quaternion: Any) -> Pose:
    """A pose of MuJoCo: a place, and a quaternion w x y z."""
    w, x, y, z = (float(entry) for entry in quaternion)
    turn = of_quaternion(x, y, z, w) if (x, y, z) != (0.0, 0.0, 0.0) else IDENTITY
    return Pose(Mat3.of([snap(entry) for entry in row] for row in turn.rows), _vector(position))


def _matter(model: Any, body: int) -> Body | None:
    """The body of a body; None for one without mass."""
    mass, (xx, yy, zz) = float(model.body_mass[body]), (float(x) for x in model.body_inertia[body])
    if mass == 0.0 and not any((xx, yy, zz)):
        return None
    same = word("mjtSameFrame", model.body_sameframe[body])  # MuJoCo takes some nanometres for nothing
    place = ZERO if same == "body" else _vector(model.body_ipos[body])
    w, x, y, z = (float(entry) for entry in model.body_iquat[body])
    unturned = same in ("body", "bodyrot") or (x, y, z) == (0.0, 0.0, 0.0)
    R = IDENTITY if unturned else (w * w + x * x + y * y + z * z) * of_quaternion(x, y, z, w)
    inertia = R @ Mat3.symmetric(xx, 0.0, 0.0, yy, 0.0, zz) @ R.T  # as MuJoCo does it, whose quaternion may be off 1
    return Body(mass, place, Mat3.symmetric(*inertia.upper))
