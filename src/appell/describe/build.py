"""Build a robot in a few lines of Python.

    arm = Builder("arm")
    arm.link("upper", Revolute(axis=(0, 0, 1)), mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.2, 0.2))
    motor = Actuator(gear=100, rotor_inertia=1e-5, friction=Friction(viscous=0.1, coulomb=0.5), torque=40)
    arm.link("lower", Revolute(), parent="upper", xyz=(1, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1), actuator=motor)
    arm.fixed("hand", parent="lower", xyz=(1, 0, 0), rpy=(0, pi / 2, 0), mass=0.5, inertia=(0.01, 0.01, 0.01))
    arm.frame("tip", on="hand", xyz=(0, 0, 0.1))
    arm.visual("upper", "box", (1, 0.1, 0.1), xyz=(0.5, 0, 0), color=(0.2, 0.4, 0.8))
    arm.collision("upper", "capsule", (0.06, 1.0), xyz=(0.5, 0, 0), rpy=(0, pi / 2, 0))
    robot = arm.build()

The readers of all file formats use this builder. A link without a mass is reported by the first dynamics call; pass
`mass=0` to declare a massless link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from appell.algebra.rotation import Pose, as_pose
from appell.describe.actuator_table import checked_actuator
from appell.describe.assemble import FramePart, Part, assemble
from appell.describe.diagnostics import ErrorCollector
from appell.describe.values import body_from, numbers, pose_from, shortened, vector
from appell.describe.visuals import collision, visual
from appell.errors import AppellError, DescriptionError, Hint, ModelError, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.collision import Collision, IgnoredPair
from appell.model.constraint import Constraint
from appell.model.flexible import FlexibleBody
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import Floating, Motion, Planar, Spherical
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import GRAVITY, ConstrainedRobot, Mimic, Robot
from appell.model.shapes import solid_body
from appell.model.visual import Attachment, Shape, Visual, moved

BASES: Mapping[str, type[Motion] | None] = {
    "fixed": None,
    "floating": Floating,
    "planar": Planar,
    "spherical": Spherical,
}


@dataclass
class Builder:
    """Collect the parts of a robot; `build` assembles them. Methods that add parts return the builder itself.

    Parameters
    ----------
    name : name of the robot
    base : joint between the world and the root link: "fixed", "floating", "planar" or "spherical"
    root : name of the root link. On a fixed base it is only a frame, whatever its mass; on any other base it moves with
        the joint 'root_joint'. With `root=None` links are attached to the world itself.
    hidden_root : whether to omit the frame of a fixed root
    at : pose of the root link in the world
    gravity : gravitational acceleration in world axes, m/s²
    home : initial configuration; the coordinates of a moving base may be left out
    physical : whether bodies that cannot exist are rejected
    mimic : whether mimic joints follow their leaders; if False, every mimic joint gets its own coordinate
    description, reference : texts stored with the robot
    source : file the robot was read from, for messages
    free : names of links whose inertial parameters are arguments of the compiled functions

    Examples
    --------
    >>> from appell import Builder, Dynamics, Revolute
    >>> arm = Builder("arm")
    >>> _ = arm.link("upper", Revolute(axis=(0, 1, 0)), mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.2, 0.2))
    >>> _ = arm.link("lower", Revolute(axis=(0, 1, 0)), parent="upper", xyz=(1, 0, 0), mass=1.0, inertia=(0, 0, 0))
    >>> _ = arm.frame("tip", on="lower", xyz=(1, 0, 0))
    >>> robot = arm.build()
    >>> robot.joint_names
    ('upper_joint', 'lower_joint')
    >>> Dynamics(robot).gravity([0.0, 0.0]).round(2)
    array([-19.62,   0.  ])
    """

    name: str
    base: str = "fixed"
    root: str | None = "base"
    hidden_root: bool = False
    at: Pose = IDENTITY_POSE
    gravity: Iterable[float] = GRAVITY
    home: Iterable[float] | None = None
    physical: bool = True
    mimic: bool = True
    description: str = ""
    reference: str = ""
    source: str = ""
    free: frozenset[str] = frozenset()
    parts: list[Part] = field(default_factory=list, init=False, repr=False)
    frames: list[FramePart] = field(default_factory=list, init=False, repr=False)
    visuals: list[Visual] = field(default_factory=list, init=False, repr=False)  # on parts or frames
    collisions: list[Collision] = field(default_factory=list, init=False, repr=False)  # on parts or frames
    ignored_pairs: list[IgnoredPair] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self):
        self.at = as_pose(self.at, f"at= of robot '{self.name}'")
        if self.base not in BASES:
            raise DescriptionError(unknown_name("base", str(self.base), BASES, "appell"))
        motion = BASES[self.base]
        if self.root is None and motion is not None:
            raise DescriptionError(f"robot '{self.name}' has a {self.base} base, but no root link that could move.")
        if self.root is not None:
            joint = "root_joint" if motion else ""
            self.parts.append(Part(self.root, None, motion() if motion else None, joint, self.at))

    def root_body(
        self,
        mass: float | None = None,
        com: Iterable[float] | None = None,
        inertia: Iterable | None = None,
        body: Body | None = None,
        where: str = "",
        body_where: str = "",
    ) -> Builder:
        """Set the inertia of the root link, for a base that moves.

        Parameters
        ----------
        mass, com, inertia, body : as in `link`
        where, body_where : file and line of the link and of the body, for messages
        """
        body = body_from(body, mass, com, inertia, f"root link '{self.root}'", where)
        body_where, massless = body_where or where, mass == 0
        self.parts[0] = replace(self.parts[0], body=body, massless=massless, where=where, body_where=body_where)
        return self

    def link(
        self,
        name: str,
        joint: Motion,
        *,
        parent: str | None = None,
        at: Pose | None = None,
        node: str | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        mass: float | None = None,
        com: Iterable[float] | None = None,
        inertia: Iterable | None = None,
        body: Body | FlexibleBody | None = None,
        joint_name: str | None = None,
        limits: Limits | tuple[float, float] = NO_LIMITS,
        mimic: Mimic | str | None = None,
        actuator: Actuator = IDEAL,
        where: str = "",
        body_where: str = "",
    ) -> Builder:
        """Add a link and the joint that carries it.

        Parameters
        ----------
        name : name of the link
        joint : motion of the joint, such as `Revolute(axis=(0, 0, 1))`
        parent : name of the parent link; the root by default
        node : node of a flexible parent in whose axes the pose of the joint is given
        at : pose of the joint in the axes of the parent, instead of `xyz` and `rpy`: a `Pose`, or a matrix (4, 4)
        xyz : position of the joint in the axes of the parent, m
        rpy : roll, pitch and yaw of the joint about the fixed axes of the parent, rad
        mass : mass, kg. 0 declares a massless link; without a mass, the first dynamics call raises
        com : centre of mass in the axes of the link, m
        inertia : inertia about the centre of mass in the axes of the link, kg m²: three principal moments, six entries
            of the upper triangle (xx, xy, xz, yy, yz, zz) or a 3x3 matrix
        body : `Body` or `FlexibleBody` instead of `mass`, `com` and `inertia`
        joint_name : name of the joint; '<name>_joint' by default
        limits : `Limits`, or a pair of lower and upper limit of the joint, rad or m; None where there is none
        mimic : name of the joint that this one follows, or a `Mimic` with multiplier and offset
        actuator : gear, rotor inertia, friction and limits of the joint's actuator
        where, body_where : file and line of the joint and of the body, for messages

        Raises
        ------
        DescriptionError
            If a value has the wrong type or size.

        Examples
        --------
        >>> from appell import Builder, Revolute
        >>> builder = Builder("pendulum").link("rod", Revolute(axis=(0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.0))
        >>> builder.build().nv
        1
        """
        owner = f"link '{name}'"
        if not isinstance(joint, Motion):
            kinds = "a joint such as Revolute(axis=(0, 0, 1))"
            raise DescriptionError(f"the joint of {owner} is {joint!r}.", expected=kinds, source=where)
        self.parts.append(
            Part(
                name=name,
                parent=self.root if parent is None else parent,
                motion=joint,
                joint=joint_name or f"{name}_joint",
                placement=pose_from(at, xyz, rpy, owner, where),
                body=body_from(body, mass, com, inertia, owner, where),
                massless=mass == 0,
                limits=limits if isinstance(limits, Limits) else Limits(*_pair(limits, owner, where)),
                mimic=Mimic(mimic) if isinstance(mimic, str) else mimic,
                actuator=checked_actuator(actuator, owner, where),
                where=where,
                body_where=body_where or where,
                node=node,
            )
        )
        return self

    def fixed(
        self,
        name: str,
        *,
        parent: str | None = None,
        at: Pose | None = None,
        node: str | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        mass: float | None = None,
        com: Iterable[float] | None = None,
        inertia: Iterable | None = None,
        body: Body | FlexibleBody | None = None,
        joint_name: str | None = None,
        where: str = "",
        body_where: str = "",
    ) -> Builder:
        """Add a link that is fixed to its parent.

        Its inertia is added to that of the parent, and its pose is kept as a frame of the same name.

        Parameters
        ----------
        name : name of the link
        parent : name of the parent link, moving or fixed; the root by default
        node : node of a flexible parent, to which the link is fixed as a body of its own
        at, xyz, rpy : pose in the axes of the parent, as in `link`
        mass, com, inertia, body : inertia of the link, as in `link`
        joint_name : name of the fixed joint; '<name>_joint' by default
        where, body_where : file and line of the joint and of the body, for messages
        """
        owner = f"link '{name}'"
        self.parts.append(
            Part(
                name=name,
                parent=self.root if parent is None else parent,
                motion=None,
                joint=joint_name or f"{name}_joint",
                placement=pose_from(at, xyz, rpy, owner, where),
                body=body_from(body, mass, com, inertia, owner, where),
                where=where,
                body_where=body_where or where,
                node=node,
            )
        )
        return self

    def frame(
        self,
        name: str,
        *,
        on: str | None = None,
        at: Pose | None = None,
        node: str | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        where: str = "",
    ) -> Builder:
        """Add a named frame to a link.

        Parameters
        ----------
        name : name of the frame
        on : name of the link, moving or fixed; the root by default
        node : node of a flexible link, in whose axes the pose is given
        at, xyz, rpy : pose in the axes of the link, as in `Builder.link`
        where : file and line, for messages
        """
        on = self.root if on is None else on
        self.frames.append(FramePart(name, on, pose_from(at, xyz, rpy, f"frame '{name}'", where), where, node))
        return self

    def visual(
        self,
        on: str | None,
        shape: str,
        size: Iterable[float] | None = None,
        *,
        at: Pose | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        color: Iterable[float] | None = None,
        file: str = "",
        name: str = "",
        where: str = "",
    ) -> Builder:
        """Add a shape for visualisation: visual("arm", "box", (1, 0.1, 0.1)).

        Parameters
        ----------
        on : link or frame that carries the shape; None for the world
        shape : "box", "sphere", "cylinder", "capsule", "ellipsoid" or "mesh"
        size : dimensions in m: three sides of a box, radius of a sphere, radius and length (along z) of a cylinder or
            capsule, three semi-axes of an ellipsoid; three scale factors of a mesh (1 by default)
        at, xyz, rpy : pose of the shape on the link, as in `link`
        color : red, green, blue and optionally opacity, from 0 to 1
        file : mesh file
        name : name of the shape; that of the link by default
        where : file and line, for messages
        """
        pose = pose_from(at, xyz, rpy, f"a visual of '{on}'", where)
        self.visuals.append(visual(on, shape, size, pose, color, file, name or on or "", where))
        return self

    def collision(
        self,
        on: str | None,
        shape: str,
        size: Iterable[float] | None = None,
        *,
        at: Pose | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        file: str = "",
        name: str = "",
        where: str = "",
    ) -> Builder:
        """Add a shape that can touch others: collision("arm", "capsule", (0.05, 0.4)).

        Parameters
        ----------
        on : link or frame that carries the shape; None for the world
        shape, size : kind and dimensions, as in `Collision`
        at, xyz, rpy : pose of the shape on the link, as in `link`
        file : mesh file
        name : name of the shape in pairs; that of the link by default
        where : file and line, for messages
        """
        pose = pose_from(at, xyz, rpy, f"a collision shape of '{on}'", where)
        self.collisions.append(collision(on, shape, size, pose, file, name, where))
        return self

    def free_body(
        self,
        name: str,
        shape: str,
        size: Iterable[float],
        mass: float,
        *,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
    ) -> Builder:
        """Add a free body of uniform density that can touch others: free_body("ball", "sphere", (0.1,), mass=1.0).

        Parameters
        ----------
        name : name of the link, on a floating joint, and of its collision shape
        shape, size : "sphere", "capsule", "box" or "cylinder" and its dimensions, as in `Collision`
        mass : mass, kg
        xyz, rpy : pose at which it starts, m and rad

        Returns
        -------
        The builder, so that calls can be chained.

        Examples
        --------
        >>> import appell as ap
        >>> scene = ap.Builder("scene", root=None).free_body("ball", "sphere", (0.1,), mass=1.0, xyz=(0, 0, 0.5))
        >>> ap.simulate(scene.collision(None, "plane", name="floor").build(), until=0.5, contacts="all").impacts[0].time
        0.28556862...
        """
        size = tuple(size)
        self.link(name, Floating(), xyz=xyz, rpy=rpy, body=solid_body(mass, shape, size))
        return self.visual(name, shape, size).collision(name, shape, size)

    def ignore_pair(self, one: str, other: str, reason: str = "") -> Builder:
        """Leave out the distance of two links or shapes, for a reason."""
        self.ignored_pairs.append(IgnoredPair(one, other, reason))
        return self

    def build(self) -> Robot:
        """Assemble the parts and return the robot.

        Raises
        ------
        DescriptionError, ModelError
            If the parts do not make up a robot; one error lists everything that is wrong.

        Examples
        --------
        >>> from appell import Builder, Prismatic
        >>> Builder("cart").link("cart", Prismatic(axis=(1, 0, 0)), mass=2.0, inertia=(0, 0, 0)).build().link_names
        ('cart',)
        """
        with ErrorCollector(self.source or f"robot '{self.name}'") as errors:
            robot = self._robot(errors)
        assert robot is not None
        return robot

    def _robot(self, errors: ErrorCollector) -> Robot | None:
        parts = self.parts if self.mimic else [replace(part, mimic=None) for part in self.parts]
        links, frames, missing, attachments = assemble(parts, self.frames, errors)
        if self.hidden_root and self.base == "fixed":
            frames = tuple(frame for frame in frames if frame.name != self.root)
        home = None if errors.collected else errors.attempt(None, self._home)  # an invalid mimic joint would change nq
        what = f"the gravity of robot '{self.name}'"
        try:
            return Robot(
                name=self.name,
                links=links,
                frames=frames,
                gravity=errors.attempt(GRAVITY, vector, self.gravity, what, self.source),
                home=home,
                free=self.free,
                missing=missing,
                physical=self.physical,
                visuals=moved(self._attached(self.visuals, attachments, errors), attachments.__getitem__),
                collisions=moved(self._attached(self.collisions, attachments, errors), attachments.__getitem__),
                ignored_pairs=tuple(self.ignored_pairs),
                description=self.description,
                reference=self.reference,
                source=self.source,
            )
        except ModelError as error:
            for part in error.parts or (error,):
                where = self._where(part.culprit) or part.source
                errors.add(type(part)(part.problem, expected=part.expected, source=where, hint=part.hint))
            return None

    def _attached(
        self, shapes: Iterable[Shape], attachments: Mapping[str | None, Attachment], errors: ErrorCollector
    ) -> Iterator[Shape]:
        for each in shapes:
            if each.body in attachments:
                yield each
            else:
                names = [name for name in attachments if name is not None]
                sentence = unknown_name("link or frame", str(each.body), names, "The robot")
                errors.add(DescriptionError(f"a shape is attached to '{each.body}'. {sentence}", source=self.source))

    def _where(self, culprit: tuple[str, str]) -> str:
        """Return file and line of a link's body, a joint or a frame, given as (kind, name)."""
        sources = {("link", part.name): part.body_where for part in self.parts}
        sources |= {("joint", part.joint): part.where for part in self.parts}
        sources |= {("frame", frame.name): frame.where for frame in self.frames}
        return sources.get(culprit, "")

    def _home(self) -> tuple[float, ...] | None:
        """Return the initial configuration; the neutral pose of a moving base is prepended if only joints are given."""
        followers = [part for part in self.parts if part.motion is not None and part.mimic is not None]
        if self.home is None or (followers and not self.mimic):
            return None
        nq = sum(part.motion.nq for part in self.parts if part.motion is not None and part.mimic is None)
        nq += sum(part.body.mode_count for part in self.parts if isinstance(part.body, FlexibleBody))
        home, base = tuple(self.home), BASES[self.base]
        if base is not None and len(home) == nq - base.nq:
            home = (*base().neutral, *home)
        return numbers(home, nq, f"the home of robot '{self.name}'", self.source)


def _pair(limits: object, owner: str, where: str) -> tuple:
    pair = tuple(limits) if isinstance(limits, Iterable) else ()
    if len(pair) != 2:
        problem = f"the limits of {owner} are {shortened(limits)}."
        raise DescriptionError(problem, expected="a pair (lower, upper), or Limits", source=where)
    return pair


def close_loops(robot: Robot, constraints: Sequence[tuple[Constraint, str]], hint: str | Hint = "") -> ConstrainedRobot:
    """Return a robot under the constraints of its description.

    Parameters
    ----------
    robot : the tree
    constraints : constraints, each with its file and line
    hint : what the user can do if the constraints do not fit the robot
    """
    try:
        return robot.with_loops(*(constraint for constraint, _ in constraints))
    except AppellError as error:
        problem = "; ".join(part.problem.rstrip(".") for part in error.parts or (error,))
        sources = [where for constraint, where in constraints if f"'{constraint.name}'" in problem]
        source = sources[0] if sources else robot.source
        raise DescriptionError(f"{problem}.", source=source, hint=hint or error.hint) from error
