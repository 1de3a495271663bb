"""Robots in URDF, read strictly.

- rpy turns about the fixed axes x, y, z in that order; the inertia is given in the axes of its own <origin>.
- Fixed joints are lumped and every link stays addressable as a frame; mimic joints have no coordinate of their own.
- A moving link without an <inertial> is listed as missing: kinematics work, the first dynamics call asks for it.
- Tags that say nothing about motion (visual, collision, gazebo) are passed over; an optional tag that is
  only half written counts as not written. Everything else that is wrong is an error with its line.

What URDF has no words for stands in tags and attributes that other readers pass over:

    <appell gravity="0 -9.81 0" home="0.1 0.2" hidden_root="true"> <free link="arm"/> </appell>      in <robot>
    <appell massless="true"/>                                                                       in <link>
    <appell rotor_inertia="2e-4" static="0.3" .../>                                                 in <joint>
    <origin xyz="..." rpy="..." rotation="nine numbers"/>             where rpy gives the rotation only to rounding
    <limit lower="-1e9" ... known="velocity effort"/>                 where other readers insist on numbers
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appell.describe.build import Builder
from appell.describe.urdf_drives import read_gearings
from appell.describe.urdf_parts import body_of, read_joint
from appell.describe.xml import Element, parse
from appell.errors import unknown_name
from appell.model.robot import GRAVITY, Robot


def read_urdf(text: str, *, base: str = "fixed", physical: bool = True, mimic: bool = True, source: str = "") -> Robot:
    """The robot of a URDF document."""
    document = parse(text, source)
    if document.tag != "robot":
        raise document.error(f"the outermost tag is <{document.tag}>.", expected="<robot>")
    if any(child.tag.startswith("xacro:") for child in document.children):
        raise document.error("this is a xacro file, not a URDF.", hint="xacro robot.xacro > robot.urdf")
    links, joints = _by_name(document, "link"), _by_name(document, "joint")
    carriers = _carriers(links, joints)
    root = _root(document, links, carriers)
    builder = _builder(document, root, base=base, physical=physical, mimic=mimic)
    builder.root_body(body=body_of(links[root]), where=links[root].where)
    gearings = read_gearings(document, joints)
    for name, joint in joints.items():
        child, parent = links[_end(joint, "child", name)], _end(joint, "parent", name)
        read_joint(builder, name, joint, child, parent, gearings.get(name, {}))
    return builder.build()


def _builder(document: Element, root: str, **options: Any) -> Builder:
    who = "the robot"
    extra = document.only("appell") or Element("appell", {}, document.line, document.source)
    given = extra.attributes
    return Builder(
        document.text("name", who),
        root=root,
        hidden_root=given.get("hidden_root") == "true",
        gravity=extra.floats("gravity", 3, who) if "gravity" in given else GRAVITY,
        home=extra.floats("home", len(given["home"].split()), who) if "home" in given else None,
        description=given.get("description", ""),
        reference=given.get("reference", ""),
        source=document.source,
        free=frozenset(link.text("link", who) for link in extra.all("free")),
        **options,
    )


def _by_name(document: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in document.all(tag):
        name = element.text("name", f"a {tag}")
        if name in found:
            raise element.error(f"there are two {tag}s named '{name}', the first on line {found[name].line}.")
        found[name] = element
    return found


def _end(joint: Element, tag: str, name: str) -> str:
    who = f"joint '{name}'"
    return joint.need(tag, who).text("link", who)


def _carriers(links: Mapping[str, Element], joints: Mapping[str, Element]) -> dict[str, Element]:
    """The joint below every link but the root."""
    carriers: dict[str, Element] = {}
    for name, joint in joints.items():
        for tag in ("parent", "child"):
            end = _end(joint, tag, name)
            if end not in links:
                sentence = unknown_name("link", end, links, "The robot")
                raise joint.error(f"joint '{name}' has {tag} '{end}'. {sentence}")
        if end in carriers:
            first = f"'{carriers[end].attributes['name']}' (line {carriers[end].line})"
            raise joint.error(f"link '{end}' is the child of two joints, {first} and '{name}'.", expected="a tree")
        carriers[end] = joint
    return carriers


def _root(document: Element, links: Mapping[str, Element], carriers: Mapping[str, Element]) -> str:
    roots = [name for name in links if name not in carriers]
    if not links:
        raise document.error("the robot has no links.")
    if not roots:
        raise document.error("every link is the child of a joint: the links carry each other in a circle.", "one root")
    if len(roots) > 1:
        names = ", ".join(f"'{name}' (line {links[name].line})" for name in roots[:10])
        raise document.error(f"the robot has {len(roots)} roots: {names}.", expected="one link that carries all others")
    return roots[0]
