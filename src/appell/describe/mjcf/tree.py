"""Convert the bodies and joints of a compiled model to links.

MuJoCo applies the joints of a body in order, each about an anchor p fixed in the body:

    T_body = T_parent · B · Π ( Trans(p) Rot(axis, q - ref) Trans(-p) )      or   Trans(axis (q - ref))          (1)

Therefore k joints become k links, of which the first k - 1 are massless, each with its origin at its anchor. `ref`
becomes a rotation or translation by -ref in the placement, so that q is MuJoCo's qpos. The last link has the name of
the body if their frames coincide; otherwise that name is a frame on it. In both cases the pose of "torso" equals
MuJoCo's xpos and xmat.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.scalar import snap
from appell.algebra.vector import ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.mjcf.actuators import Motors, joint_actuator
from appell.describe.mjcf.compiler import enum_name, is_disabled
from appell.describe.mjcf.context import ReadContext
from appell.model.body import Body
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import Floating, Motion, Prismatic, Revolute, Spherical
from appell.model.limits import NO_LIMITS, Limits
from appell.model.visual import Attachment


class ModelTree:
    """Add the bodies of a model to a builder, and record the link that carries each of them."""

    def __init__(self, context: ReadContext, builder: Builder, driven: Motors):
        self.context, self.builder, self.driven = context, builder, driven
        self.attachments: dict[int, Attachment] = {0: (None, IDENTITY_POSE)}
        self.joint_names = unique(context.name("joint", k) for k in range(context.model.njnt))
        self.body_names = unique(context.name("body", k) for k in range(context.model.nbody))
        for body in range(1, context.model.nbody):
            self._add(body)
        taken = {"world", *(part.name for part in builder.parts), *(frame.name for frame in builder.frames)}
        self.site_names = unique((context.name("site", k) for k in range(context.model.nsite)), taken, "_site")
        for k, name in enumerate(self.site_names):
            carrier, pose = self.site(k)
            builder.frame(name, on=carrier, at=pose, where=context.where("site", k))

    def _add(self, body: int) -> None:
        model, builder, context = self.context.model, self.builder, self.context
        name, where = self.body_names[body], context.where("body", body)
        carrier, pose = self.attachments[int(model.body_parentid[body])]
        pose = _compose(pose, quaternion_pose(model.body_pos[body], model.body_quat[body]))
        inertia, count = _inertia(model, body), int(model.body_jntnum[body])
        if not count:
            builder.fixed(name, parent=carrier, at=pose, body=inertia, joint_name=f"{name}/fixed", where=where)
            self.attachments[body] = name, IDENTITY_POSE
            return
        # `anchor` is the origin of the last link in the body, `offset` the pose of the body on that link
        anchor, offset, frames_coincide = ZERO, IDENTITY_POSE, True
        for k in range(count):
            joint = int(model.body_jntadr[body]) + k
            motion, next_anchor = self._motion(joint), _vector(model.jnt_pos[joint])
            if isinstance(motion, Floating):
                pose, next_anchor = IDENTITY_POSE, ZERO  # qpos is the pose in the world
            if isinstance(motion, Prismatic):
                next_anchor = anchor  # a slide has no anchor
            pose = _compose(pose, Pose(IDENTITY, next_anchor - anchor), self._minus_ref(joint, motion))
            is_last = k == count - 1
            frames_coincide = is_last and next_anchor == ZERO
            link = name if frames_coincide else f"{name}/{self.joint_names[joint]}"
            offset = Pose(IDENTITY, -next_anchor)
            builder.link(
                link,
                motion,
                parent=carrier,
                at=pose,
                **({"body": inertia.moved(offset)} if is_last and inertia is not None else {"mass": 0.0}),
                joint_name=self.joint_names[joint],
                limits=self._limits(joint, motion),
                actuator=joint_actuator(context, joint, self.driven.get(joint, [])),
                where=context.where("joint", joint),
                body_where=where,
            )
            carrier, pose, anchor = link, IDENTITY_POSE, next_anchor
        if not frames_coincide:
            builder.frame(name, on=carrier, at=offset, where=where)
        self.attachments[body] = carrier, offset

    def _motion(self, joint: int) -> Motion:
        model = self.context.model
        kind, axis = enum_name("mjtJoint", model.jnt_type[joint]), _vector(model.jnt_axis[joint])
        if kind in ("free", "ball"):
            return Floating() if kind == "free" else Spherical()
        return Prismatic(axis) if kind == "slide" else Revolute(axis)

    def _minus_ref(self, joint: int, motion: Motion) -> Pose:
        """Return the pose of the joint at -ref, so that the placement agrees with MuJoCo at qpos = ref."""
        model = self.context.model
        ref = float(model.qpos0[model.jnt_qposadr[joint]])
        if motion.nq != 1 or ref == 0.0:
            return IDENTITY_POSE
        return motion.pose([-ref])

    def _limits(self, joint: int, motion: Motion) -> Limits:
        model = self.context.model
        if not model.jnt_limited[joint] or is_disabled(model, "limit"):
            return NO_LIMITS
        if motion.nq != 1:
            self.context.note(f"the limits of ball joint '{self.joint_names[joint]}'")
            return NO_LIMITS
        lower, upper = (float(x) for x in model.jnt_range[joint])
        return Limits(lower, upper)

    # ---- frames on bodies

    def attach(self, body: int, pose: Pose) -> Attachment:
        """Return the link that carries a body, and a pose of that body in the axes of the link."""
        carrier, offset = self.attachments[body]
        return carrier, _compose(offset, pose)

    def site(self, number: int) -> Attachment:
        """Return the link that carries a site, and the pose of the site on it."""
        model = self.context.model
        return self.attach(
            int(model.site_bodyid[number]), quaternion_pose(model.site_pos[number], model.site_quat[number])
        )


def unique(names: Iterable[str], taken: Iterable[str] = (), suffix: str = "_") -> list[str]:
    """Return the names with a suffix added to those that occurred before or are in `taken`."""
    seen, unique_names = set(taken), []
    for name in names:
        while name in seen:
            name += suffix
        seen.add(name)
        unique_names.append(name)
    return unique_names


def _compose(*poses: Pose) -> Pose:
    product = IDENTITY_POSE
    for pose in poses:
        if pose != IDENTITY_POSE:
            product = pose if product == IDENTITY_POSE else product @ pose
    return Pose(Mat3.of([snap(x) for x in row] for row in product.rotation.rows), product.translation)


def _vector(numbers: Any) -> Vec3:
    return Vec3.of([float(x) for x in numbers])


def quaternion_pose(position: Any, quaternion: Any) -> Pose:
    """Return the pose of a position and a quaternion w x y z."""
    w, x, y, z = (float(entry) for entry in quaternion)
    rotation = of_quaternion(x, y, z, w) if (x, y, z) != (0.0, 0.0, 0.0) else IDENTITY
    return Pose(Mat3.of([snap(entry) for entry in row] for row in rotation.rows), _vector(position))


def _inertia(model: Any, body: int) -> Body | None:
    """Return mass and inertia of a body; None if it has none."""
    mass, (xx, yy, zz) = float(model.body_mass[body]), (float(x) for x in model.body_inertia[body])
    if mass == 0.0 and not any((xx, yy, zz)):
        return None
    same_frame = enum_name("mjtSameFrame", model.body_sameframe[body])  # MuJoCo neglects offsets of some nanometres
    com = ZERO if same_frame == "body" else _vector(model.body_ipos[body])
    w, x, y, z = (float(entry) for entry in model.body_iquat[body])
    is_aligned = same_frame in ("body", "bodyrot") or (x, y, z) == (0.0, 0.0, 0.0)
    R = IDENTITY if is_aligned else (w * w + x * x + y * y + z * z) * of_quaternion(x, y, z, w)
    inertia = (
        R @ Mat3.symmetric(xx, 0.0, 0.0, yy, 0.0, zz) @ R.T
    )  # as in MuJoCo, whose quaternion may not have unit length
    return Body(mass, com, Mat3.symmetric(*inertia.upper))
