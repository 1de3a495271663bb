"""Robots in URDF, read strictly, and all flaws of a file told at once.

- rpy turns about the fixed axes x, y, z in that order; the inertia is given in the axes of its own <origin>.
- Fixed joints are lumped and every link stays addressable as a frame; mimic joints have no coordinate of their own.
- A moving link without an <inertial> is listed as missing: kinematics work, and so do dynamics where something outboard
  of it has inertia.
- Shapes are read for those who look (`describe.urdf_visuals`). Other tags that say nothing about motion are passed
  over; an optional tag that is only half written counts as not written. Everything else that is wrong is a flaw with
  its line.
- Leftovers of xacro are passed over while the rest is whole (`describe.xacro`), and so is what every reader forgives
  (`describe.urdf_leniency`), with a warning.

What URDF has no words for stands in tags and attributes that other readers pass over:

    <appell gravity="0 -9.81 0" home="0.1 0.2" hidden_root="true"> <free link="arm"/> </appell>      in <robot>
    <appell massless="true"/>                                                                       in <link>
    <appell rotor_inertia="2e-4" static="0.3" .../>                                                 in <joint>
    <origin xyz="..." rpy="..." rotation="nine numbers"/>             where rpy gives the rotation only to rounding
    <limit lower="-1e9" ... known="velocity effort"/>                 where other readers insist on numbers
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from appell.describe.build import Builder
from appell.describe.flaws import Flaws
from appell.describe.looks import MeshFiles
from appell.describe.urdf.leniency import tidied, warn_of
from appell.describe.urdf.parts import Gearing, matter_of, read_gearings, read_joint, read_visuals
from appell.describe.urdf.xacro import passed_over, refuse_unprocessed
from appell.describe.xml import Element, parse
from appell.errors import unknown_name
from appell.model.robot import GRAVITY, Robot

TREE = "a tree, whose loops are closed by ap.load(path, loops=[ap.Hinge(one_frame, another)])"


def read_urdf(
    text: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    files: MeshFiles | None = None,
) -> Robot:
    """The robot of a URDF document; `files` finds the meshes that it names."""
    document = parse(text, source)
    if document.tag != "robot":
        raise document.error(f"the outermost tag is <{document.tag}>.", expected="<robot>")
    notes = tidied(document)
    with Flaws(source or "the text") as flaws:
        try:
            robot = _read(document, flaws, files or MeshFiles(), notes, base=base, physical=physical, mimic=mimic)
        finally:
            if flaws.found:
                refuse_unprocessed(document)
    assert robot is not None
    warn_of([*passed_over(document), *notes], source)
    return robot


class Edge(NamedTuple):
    """A joint on a link that is there; its parent's name is empty if that one is not."""

    joint: Element
    parent: str
    child: str


def _read(document: Element, flaws: Flaws, files: MeshFiles, notes: list[str], **options: Any) -> Robot | None:
    links, joints = _by_name(document, "link", flaws), _by_name(document, "joint", flaws)
    if not links:
        flaws.add(document.error("the robot has no links."))
        return None
    edges = _edges(links, joints, flaws)
    root, *others = _roots(document, links, edges, flaws)
    builder = _builder(document, root, flaws, **options)
    builder.root_body(**matter_of(links[root], flaws), where=links[root].where)
    carried = {edge.child for edge in edges.values()}
    for other in others:  # told as a flaw; stood on the root, so that what they carry is read as well
        if other not in carried:
            builder.fixed(other, parent=root, **matter_of(links[other], flaws))
    gearings: dict[str, Gearing] = flaws.tried({}, read_gearings, document, joints)
    for name, edge in edges.items():
        parent, gearing = edge.parent or root, gearings.get(name, {})
        read_joint(builder, name, edge.joint, links[edge.child], parent, gearing, flaws)
    read_visuals(builder, document, links, files, notes)
    moves = any(part.motion is not None for part in builder.parts)
    return flaws.tried(None, builder.build) if moves or not flaws.found else None


def _builder(document: Element, root: str, flaws: Flaws, **options: Any) -> Builder:
    who = "the robot"
    extra = flaws.tried(None, document.only, "appell") or Element("appell", {}, document.line, document.source)
    given, tried = extra.attributes, flaws.tried
    names = (tried("", link.text, "link", who) for link in extra.all("free"))
    return Builder(
        tried("robot", document.text, "name", who),
        root=root,
        hidden_root=given.get("hidden_root") == "true",
        gravity=tried(GRAVITY, extra.floats, "gravity", 3, who) if "gravity" in given else GRAVITY,
        home=tried(None, extra.floats, "home", len(given["home"].split()), who) if "home" in given else None,
        description=given.get("description", ""),
        reference=given.get("reference", ""),
        source=document.source,
        free=frozenset(name for name in names if name),
        **options,
    )


def _by_name(document: Element, tag: str, flaws: Flaws) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in document.all(tag):
        name = flaws.tried("", element.text, "name", f"a {tag}")
        if name in found:
            problem = f"there are two {tag}s named '{name}', the first on line {found[name].line}."
            flaws.add(element.error(problem))
        elif name:
            found[name] = element
    return found


def _edges(links: Mapping[str, Element], joints: Mapping[str, Element], flaws: Flaws) -> dict[str, Edge]:
    """The joints whose child is there, at most one below every link."""
    edges: dict[str, Edge] = {}
    carriers: dict[str, str] = {}
    for name, joint in joints.items():
        parent, child = (flaws.tried("", _end, joint, tag, name, links) for tag in ("parent", "child"))
        if child in carriers:
            first = f"'{carriers[child]}' (line {joints[carriers[child]].line})"
            problem = f"link '{child}' is the child of two joints, {first} and '{name}'."
            flaws.add(joint.error(problem, expected=TREE))
        elif child:
            carriers[child] = name
            edges[name] = Edge(joint, parent, child)
    return edges


def _end(joint: Element, tag: str, name: str, links: Mapping[str, Element]) -> str:
    who = f"joint '{name}'"
    end = joint.need(tag, who).text("link", who)
    if end not in links:
        sentence = unknown_name("link", end, links, "The robot")
        raise joint.error(f"{who} has {tag} '{end}'. {sentence}")
    return end


def _roots(document: Element, links: Mapping[str, Element], edges: dict[str, Edge], flaws: Flaws) -> list[str]:
    carried = {edge.child: name for name, edge in edges.items() if edge.parent}
    roots = [name for name in links if name not in carried]
    if not roots:
        problem = "every link is the child of a joint: the links carry each other in a circle."
        flaws.add(document.error(problem, "one root"))
        roots = [next(iter(links))]
    elif len(roots) > 1 and not flaws.found:  # else it may follow from what was found
        names = ", ".join(f"'{name}' (line {links[name].line})" for name in roots[:10])
        problem = f"the robot has {len(roots)} roots: {names}."
        flaws.add(document.error(problem, expected="one link that carries all others"))
    for name in [name for name, edge in edges.items() if edge.child == roots[0]]:
        del edges[name]
    return roots
