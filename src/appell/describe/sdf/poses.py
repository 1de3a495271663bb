"""Where things stand in SDF: every pose is told relative to something, and all are led back to the model.

    link        relative to the model, or to what `relative_to` names
    joint       relative to its child, or to what `relative_to` names
    frame       relative to what it is attached to, or to what `relative_to` names
    a model     inside another, relative to that one; the names of its parts are inner::part

These are the places in which all joints are at zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.scalar import snap
from appell.algebra.vector import Vec3
from appell.describe.values import plain, shortened
from appell.describe.xml import Element
from appell.errors import unknown_name
from appell.model.frame import IN_PLACE

MODEL = "__model__"
FORMATS = {"euler_rpy": 6, "quat_xyzw": 7}


@dataclass(frozen=True)
class Named:
    """A part that has a name and a pose; `scope` is the prefix of the model it stands in."""

    element: Element
    scope: str
    otherwise: str  # what its pose is relative to, if it does not say
    attached: str = ""  # a frame: what carries it


@dataclass
class Places:
    """All that has a name in a model."""

    parts: dict[str, Named] = field(default_factory=dict)
    known: dict[str, Pose] = field(default_factory=dict)

    @staticmethod
    def of(model: Element) -> Places:
        found = Places()
        found.known[MODEL] = IN_PLACE
        found._collect(model, "")
        return found

    def of_tag(self, tag: str) -> Iterator[tuple[str, Named]]:
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
                otherwise = self.scoped(child_text(element, "child", f"joint '{name}'"), scope)
                self.parts[name] = Named(element, scope, otherwise)
            elif element.tag == "frame":
                carrier = self.scoped(element.attributes.get("attached_to", "").strip() or MODEL, scope)
                self.parts[name] = Named(element, scope, carrier, carrier)
            else:
                self.parts[name] = Named(element, scope, home)
            if element.tag == "model":
                self.parts[f"{name}::{MODEL}"] = self.parts[name]
                self._collect(element, f"{name}::")

    def scoped(self, name: str, scope: str) -> str:
        return name if name == "world" else scope + name

    def pose(self, name: str, asker: Element, waiting: tuple[str, ...] = ()) -> Pose:
        """Where a part stands in the model."""
        if name in self.known:
            return self.known[name]
        part = self.find(name, asker)
        if name in waiting:
            raise part.element.error(f"poses lead in a circle: {' -> '.join([*waiting, name])}.")
        tag = part.element.only("pose")
        relative = tag.attributes.get("relative_to", "").strip() if tag is not None else ""
        base = self.scoped(relative, part.scope) if relative else part.otherwise
        outer = IN_PLACE if base == "world" else self.pose(base, part.element, (*waiting, name))
        self.known[name] = composed(outer, pose_of(tag, f"{part.element.tag} '{name}'"))
        return self.known[name]

    def find(self, name: str, asker: Element) -> Named:
        if name not in self.parts:
            raise asker.error(unknown_name("link or frame", name, self.parts, "The model"))
        return self.parts[name]

    def link(self, name: str, asker: Element) -> str:
        """The link that a link or a frame is, or is attached to; `world` is the world."""
        seen: list[str] = []
        while name != "world":
            part = self.find(name, asker)
            if part.element.tag == "link":
                return name
            if name in seen or part.element.tag != "frame":
                raise asker.error(f"'{name}' is no link, and is attached to none.")
            seen.append(name)
            if part.attached.endswith(MODEL):
                return self._canonical(part, asker)
            name = part.attached
        return name

    def _canonical(self, part: Named, asker: Element) -> str:
        """The link that stands for a model: its first."""
        for name, other in self.of_tag("link"):
            if other.scope == part.scope:
                return name
        raise asker.error("a frame is attached to a model without links.")


def composed(outer: Pose, inner: Pose) -> Pose:
    """outer @ inner, with what rounding has blurred made sharp again."""
    pose = outer @ inner
    return Pose(Mat3.of([snap(x) for x in row] for row in pose.rotation.rows), pose.translation)


def pose_of(tag: Element | None, who: str) -> Pose:
    """x y z roll pitch yaw, or x y z and a quaternion."""
    if tag is None or not tag.content.strip():
        return IN_PLACE
    form = tag.attributes.get("rotation_format", "euler_rpy")
    if form not in FORMATS:
        raise tag.error(f"the pose of {who} has rotation_format {shortened(form)}.", expected=", ".join(FORMATS))
    values = numbers_of(tag, FORMATS[form], f"<pose> of {who}")
    place, turn = Vec3.of(values[:3]), values[3:]
    if form == "quat_xyzw":
        if not any(turn):
            raise tag.error(f"the pose of {who} has a quaternion of zeros.")
        return Pose(Mat3.of([snap(x) for x in row] for row in of_quaternion(*turn).rows), place)
    if tag.attributes.get("degrees", "false").strip().lower() in ("true", "1"):
        turn = tuple(math.radians(x) for x in turn)
    return Pose.from_rpy(Vec3.of(turn), place)


def numbers_of(tag: Element, size: int, what: str) -> tuple[float, ...]:
    """So many finite numbers between tags."""
    words = tag.content.split()
    values = [plain(word) for word in words[: size + 1]]
    if len(words) != size or None in values:
        told = shortened(tag.content.strip())
        raise tag.error(f"{what} is {told}.", expected=f"{size} finite numbers")
    return tuple(value for value in values if value is not None)


def child_text(element: Element, tag: str, who: str) -> str:
    """The text between the tags of a child that must be there."""
    text = element.need(tag, who).content.strip()
    if not text:
        raise element.error(f"<{tag}> of {who} is empty.")
    return text
