"""Resolve the poses of SDF, each of which is relative to another part, to poses in the model.

    link            relative to the model, or to `relative_to`
    joint           relative to its child, or to `relative_to`
    frame           relative to the part it is attached to, or to `relative_to`
    nested model    relative to the outer model; its parts have names such as inner::part

These are the poses with all joints at zero.

Angles such as 1.5708 are multiples of π/2 rounded to the digits of the file. Axes that should be parallel then deviate
by 1e-6 or more, which locks a plane loop: its constraints, taken literally, leave fewer motions. In a model with loops,
an angle that equals a multiple of π/2 to its printed digits, at least two after the point, is read as that multiple.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.scalar import snap
from appell.algebra.vector import Vec3
from appell.describe.values import parse_decimal, shortened
from appell.describe.xml import Element
from appell.errors import unknown_name
from appell.model.frame import IDENTITY_POSE

MODEL = "__model__"
RIGHT_ANGLE = math.pi / 2
MIN_ANGLE_DIGITS = 2  # after the decimal point
FORMATS = {"euler_rpy": 6, "quat_xyzw": 7}


@dataclass(frozen=True)
class NamedPart:
    """A part with a name and a pose."""

    element: Element
    scope: str  # prefix of the model that contains it
    default_base: str  # the part its pose is relative to without `relative_to`
    attached: str = ""  # for a frame, the part that carries it


@dataclass
class PoseGraph:
    """All named parts of a model, and their poses."""

    parts: dict[str, NamedPart] = field(default_factory=dict)
    resolved: dict[str, Pose] = field(default_factory=dict)
    has_loops: bool = False
    rounded_lines: list[int] = field(default_factory=list)  # of the angles that were read as multiples of π/2

    @staticmethod
    def of(model: Element) -> PoseGraph:
        """Collect all named parts of a model and its nested models."""
        graph = PoseGraph()
        graph.resolved[MODEL] = IDENTITY_POSE
        graph._collect(model, "")
        return graph

    def of_tag(self, tag: str) -> Iterator[tuple[str, NamedPart]]:
        """Yield name and part of all parts with a tag."""
        return ((name, part) for name, part in self.parts.items() if part.element.tag == tag)

    def _collect(self, model: Element, scope: str) -> None:
        home = scope + MODEL
        for element in model.children:
            if element.tag not in ("link", "joint", "frame", "model"):
                continue
            name = scope + element.text("name", f"a {element.tag}")
            if name in self.parts:
                raise element.error(f"there are two parts named '{name}'.", expected="unique names")
            if element.tag == "joint":
                child = self.scoped(child_text(element, "child", f"joint '{name}'"), scope)
                self.parts[name] = NamedPart(element, scope, child)
            elif element.tag == "frame":
                carrier = self.scoped(element.attributes.get("attached_to", "").strip() or MODEL, scope)
                self.parts[name] = NamedPart(element, scope, carrier, carrier)
            else:
                self.parts[name] = NamedPart(element, scope, home)
            if element.tag == "model":
                self.parts[f"{name}::{MODEL}"] = self.parts[name]
                self._collect(element, f"{name}::")

    def scoped(self, name: str, scope: str) -> str:
        """Return a name with the prefix of its model; "world" has none."""
        return name if name == "world" else scope + name

    def pose(self, name: str, element: Element, waiting: tuple[str, ...] = ()) -> Pose:
        """Return the pose of a part in the model.

        Parameters
        ----------
        name : name of the part
        element : the tag that refers to the part, for messages
        waiting : parts whose poses depend on this one, to detect cycles
        """
        if name in self.resolved:
            return self.resolved[name]
        part = self.find(name, element)
        if name in waiting:
            raise part.element.error(f"the poses form a cycle: {' -> '.join([*waiting, name])}.")
        tag = part.element.only("pose")
        relative = tag.attributes.get("relative_to", "").strip() if tag is not None else ""
        base = self.scoped(relative, part.scope) if relative else part.default_base
        outer = IDENTITY_POSE if base == "world" else self.pose(base, part.element, (*waiting, name))
        inner = pose_of(tag, f"{part.element.tag} '{name}'")
        if self.has_loops and tag is not None:
            inner = self._with_right_angles(inner, tag)
        self.resolved[name] = compose(outer, inner)
        return self.resolved[name]

    def _with_right_angles(self, pose: Pose, tag: Element) -> Pose:
        """Return the pose of a tag with rounded multiples of π/2 replaced by exact ones."""
        if tag.attributes.keys() & {"rotation_format", "degrees"} or not tag.content.strip():
            return pose
        words = tag.content.split()[3:]
        exact = [_right_angle(word) for word in words]
        if not any(exact):
            return pose
        self.rounded_lines.append(tag.line)
        angles = (float(word) if angle is None else angle for word, angle in zip(words, exact, strict=True))
        return Pose.from_rpy(Vec3.of(angles), pose.translation)

    def find(self, name: str, element: Element) -> NamedPart:
        """Return a part; raise DescriptionError at the line of `element` if it does not exist."""
        if name not in self.parts:
            raise element.error(unknown_name("link or frame", name, self.parts, "The model"))
        return self.parts[name]

    def link_of(self, name: str, element: Element) -> str:
        """Return the name of a link, or of the link that carries a frame; "world" for the world."""
        seen: list[str] = []
        while name != "world":
            part = self.find(name, element)
            if part.element.tag == "link":
                return name
            if name in seen or part.element.tag != "frame":
                raise element.error(f"'{name}' is neither a link nor attached to one.")
            seen.append(name)
            if part.attached.endswith(MODEL):
                return self._canonical_link(part, element)
            name = part.attached
        return name

    def _canonical_link(self, part: NamedPart, element: Element) -> str:
        """Return the canonical link of a model, which is its first."""
        for name, other in self.of_tag("link"):
            if other.scope == part.scope:
                return name
        raise element.error("a frame is attached to a model that has no links.")


def _right_angle(word: str) -> float | None:
    """Return the multiple of π/2, other than 0, that a decimal number equals to its printed digits; None otherwise."""
    digits, value = len(word.partition(".")[2]), float(word)
    multiple = round(value / RIGHT_ANGLE) * RIGHT_ANGLE
    is_rounded = multiple != value and abs(multiple - value) <= 0.5 * 10.0**-digits
    return multiple if multiple and is_rounded and digits >= MIN_ANGLE_DIGITS and "e" not in word.lower() else None


def compose(outer: Pose, inner: Pose) -> Pose:
    """Return outer @ inner, with entries that rounding moved off 0 and ±1 restored."""
    pose = outer @ inner
    return Pose(Mat3.of([snap(x) for x in row] for row in pose.rotation.rows), pose.translation)


def pose_of(tag: Element | None, owner: str) -> Pose:
    """Return the pose of a tag: x y z roll pitch yaw, or x y z and a quaternion; the identity without a tag."""
    if tag is None or not tag.content.strip():
        return IDENTITY_POSE
    form = tag.attributes.get("rotation_format", "euler_rpy")
    if form not in FORMATS:
        raise tag.error(f"the pose of {owner} has rotation_format {shortened(form)}.", expected=", ".join(FORMATS))
    values = numbers_of(tag, FORMATS[form], f"<pose> of {owner}")
    translation, orientation = Vec3.of(values[:3]), values[3:]
    if form == "quat_xyzw":
        if not any(orientation):
            raise tag.error(f"the pose of {owner} has the quaternion (0, 0, 0, 0), which is not a rotation.")
        return Pose(Mat3.of([snap(x) for x in row] for row in of_quaternion(*orientation).rows), translation)
    if tag.attributes.get("degrees", "false").strip().lower() in ("true", "1"):
        orientation = tuple(math.radians(x) for x in orientation)
    return Pose.from_rpy(Vec3.of(orientation), translation)


def numbers_of(tag: Element, size: int, what: str) -> tuple[float, ...]:
    """Return the `size` finite numbers between the tags; `what` is their name in messages."""
    words = tag.content.split()
    values = [parse_decimal(word) for word in words[: size + 1]]
    if len(words) != size or None in values:
        raise tag.error(f"{what} is {shortened(tag.content.strip())}.", expected=f"{size} finite numbers")
    return tuple(value for value in values if value is not None)


def child_text(element: Element, tag: str, owner: str) -> str:
    """Return the text between the tags of a child that must exist."""
    text = element.need(tag, owner).content.strip()
    if not text:
        raise element.error(f"<{tag}> of {owner} is empty.")
    return text
