"""A robot in a few lines of Python.

    arm = Builder("arm")
    arm.link("upper", Revolute(axis=(0, 0, 1)), mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.2, 0.2))
    drive = Actuator(gear=100, rotor_inertia=1e-5, friction=Friction(viscous=0.1, coulomb=0.5), torque=40)
    arm.link("lower", Revolute(), parent="upper", xyz=(1, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1), actuator=drive)
    arm.fixed("hand", parent="lower", xyz=(1, 0, 0), rpy=(0, pi / 2, 0), mass=0.5, inertia=(0.01, 0.01, 0.01))
    arm.frame("tip", on="hand", xyz=(0, 0, 0.1))
    arm.visual("upper", "box", (1, 0.1, 0.1), xyz=(0.5, 0, 0), color=(0.2, 0.4, 0.8))
    robot = arm.build()

Every reader of files drives this same builder. A link whose mass is not given is reported by the first dynamics call;
`mass=0` says that it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from appell.algebra.rotation import Pose
from appell.describe.assemble import FramePart, Part, assemble
from appell.describe.drives import checked
from appell.describe.flaws import Flaws
from appell.describe.looks import visual
from appell.describe.values import matter, numbers, place, vector
from appell.errors import DescriptionError, ModelError, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import Floating, Motion, Planar, Spherical
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import GRAVITY, Mimic, Robot
from appell.model.visual import Stand, Visual, moved

BASES: Mapping[str, type[Motion] | None] = {
    "fixed": None,
    "floating": Floating,
    "planar": Planar,
    "spherical": Spherical,
}


@dataclass
class Builder:
    """Collects the parts of a robot; `build` makes it.

    The root link stands on the world at `at`. On a fixed base it is only a frame, whatever its mass; on any other base
    it moves with the joint 'root_joint'. With `root=None` links stand on the world itself.
    """

    name: str
    base: str = "fixed"
    root: str | None = "base"
    hidden_root: bool = False  # keep no frame of a fixed root
    at: Pose = IN_PLACE
    gravity: Iterable[float] = GRAVITY
    home: Iterable[float] | None = None
    physical: bool = True
    mimic: bool = True  # False: every mimic joint gets a coordinate of its own
    description: str = ""
    reference: str = ""
    source: str = ""
    free: frozenset[str] = frozenset()
    parts: list[Part] = field(default_factory=list, init=False, repr=False)
    frames: list[FramePart] = field(default_factory=list, init=False, repr=False)
    visuals: list[Visual] = field(default_factory=list, init=False, repr=False)  # on parts or frames, as described

    def __post_init__(self):
        if self.base not in BASES:
            raise DescriptionError(unknown_name("base", str(self.base), BASES, "appell"))
        motion = BASES[self.base]
        if self.root is None and motion is not None:
            raise DescriptionError(f"robot '{self.name}' has a {self.base} base, but no root link to move.")
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
        """Give the root link a mass, for a base that moves."""
        body = matter(body, mass, com, inertia, f"root link '{self.root}'", where)
        at, massless = body_where or where, mass == 0
        self.parts[0] = replace(self.parts[0], body=body, massless=massless, where=where, body_where=at)
        return self

    def link(
        self,
        name: str,
        joint: Motion,
        *,
        parent: str | None = None,
        at: Pose | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        mass: float | None = None,
        com: Iterable[float] | None = None,
        inertia: Iterable | None = None,
        body: Body | None = None,
        joint_name: str | None = None,
        limits: Limits | tuple[float, float] = NO_LIMITS,
        mimic: Mimic | str | None = None,
        actuator: Actuator = IDEAL,
        where: str = "",
        body_where: str = "",
    ) -> Builder:
        """A link on a joint of a parent (the root, if none is named); inertia is about the centre of mass."""
        who = f"link '{name}'"
        if not isinstance(joint, Motion):
            kinds = "a joint such as Revolute(axis=(0, 0, 1))"
            raise DescriptionError(f"{who} stands on {joint!r}.", expected=kinds, source=where)
        self.parts.append(
            Part(
                name=name,
                parent=self.root if parent is None else parent,
                motion=joint,
                joint=joint_name or f"{name}_joint",
                placement=place(at, xyz, rpy, who, where),
                body=matter(body, mass, com, inertia, who, where),
                massless=mass == 0,
                limits=limits if isinstance(limits, Limits) else Limits(*limits),
                mimic=Mimic(mimic) if isinstance(mimic, str) else mimic,
                actuator=checked(actuator, who, where),
                where=where,
                body_where=body_where or where,
            )
        )
        return self

    def fixed(
        self,
        name: str,
        *,
        parent: str | None = None,
        at: Pose | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        mass: float | None = None,
        com: Iterable[float] | None = None,
        inertia: Iterable | None = None,
        body: Body | None = None,
        joint_name: str | None = None,
        where: str = "",
        body_where: str = "",
    ) -> Builder:
        """A link that cannot move on its parent: its mass is added to the parent's, its place is kept as a frame."""
        who = f"link '{name}'"
        self.parts.append(
            Part(
                name=name,
                parent=self.root if parent is None else parent,
                motion=None,
                joint=joint_name or f"{name}_joint",
                placement=place(at, xyz, rpy, who, where),
                body=matter(body, mass, com, inertia, who, where),
                where=where,
                body_where=body_where or where,
            )
        )
        return self

    def frame(
        self,
        name: str,
        *,
        on: str | None = None,
        at: Pose | None = None,
        xyz: Iterable[float] | None = None,
        rpy: Iterable[float] | None = None,
        where: str = "",
    ) -> Builder:
        """A named place on a link or on a fixed link (on the root, if none is named)."""
        on = self.root if on is None else on
        self.frames.append(FramePart(name, on, place(at, xyz, rpy, f"frame '{name}'", where), where))
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
        """A shape on a link or frame, or on the world (None), for those who look: visual("arm", "box", (1, 0.1, 0.1)).

        Sizes are metres: a box its three sides, a sphere its radius, a cylinder or capsule radius and length along z,
        an ellipsoid its half axes. A "mesh" has a `file` and may have a scale. `color` is red, green, blue and perhaps
        opacity, from 0 to 1.
        """
        pose = place(at, xyz, rpy, f"a visual of '{on}'", where)
        self.visuals.append(visual(on, shape, size, pose, color, file, name or on or "", where))
        return self

    def build(self) -> Robot:
        """The robot, or one error with all that keeps these parts from being one."""
        with Flaws(self.source or f"robot '{self.name}'") as flaws:
            robot = self._robot(flaws)
        assert robot is not None
        return robot

    def _robot(self, flaws: Flaws) -> Robot | None:
        parts = self.parts if self.mimic else [replace(part, mimic=None) for part in self.parts]
        links, frames, missing, stands = assemble(parts, self.frames, flaws)
        if self.hidden_root and self.base == "fixed":
            frames = tuple(frame for frame in frames if frame.name != self.root)
        home = None if flaws.found else flaws.tried(None, self._home)  # a mimic that fails has a coordinate too many
        what = f"the gravity of robot '{self.name}'"
        try:
            return Robot(
                name=self.name,
                links=links,
                frames=frames,
                gravity=flaws.tried(GRAVITY, vector, self.gravity, what, self.source),
                home=home,
                free=self.free,
                missing=missing,
                physical=self.physical,
                visuals=moved(self._visuals(stands, flaws), stands.__getitem__),
                description=self.description,
                reference=self.reference,
                source=self.source,
            )
        except ModelError as error:
            for flaw in error.parts or (error,):
                where = self._where(flaw.culprit) or flaw.source
                flaws.add(type(flaw)(flaw.problem, expected=flaw.expected, source=where, hint=flaw.hint))
            return None

    def _visuals(self, stands: Mapping[str | None, Stand], flaws: Flaws) -> Iterator[Visual]:
        for each in self.visuals:
            if each.body in stands:
                yield each
            else:
                names = [name for name in stands if name is not None]
                sentence = unknown_name("link or frame", str(each.body), names, "The robot")
                flaws.add(DescriptionError(f"a visual is on '{each.body}'. {sentence}", source=self.source))

    def _where(self, culprit: tuple[str, str]) -> str:
        """Where a link's body, a joint or a frame was described."""
        places = {("link", part.name): part.body_where for part in self.parts}
        places |= {("joint", part.joint): part.where for part in self.parts}
        places |= {("frame", frame.name): frame.where for frame in self.frames}
        return places.get(culprit, "")

    def _home(self) -> tuple[float, ...] | None:
        """The configuration to start from, with the base at rest in front where only the joints are given."""
        followers = [part for part in self.parts if part.motion is not None and part.mimic is not None]
        if self.home is None or (followers and not self.mimic):
            return None
        nq = sum(part.motion.nq for part in self.parts if part.motion is not None and part.mimic is None)
        home, base = tuple(self.home), BASES[self.base]
        if base is not None and len(home) == nq - base.nq:
            home = (*base().neutral, *home)
        return numbers(home, nq, f"the home of robot '{self.name}'", self.source)
