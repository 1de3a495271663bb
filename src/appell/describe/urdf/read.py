"""Read robots from URDF, strictly, and report all errors of a file at once.

- rpy are rotations about the fixed axes x, y, z in that order; an inertia is given in the axes of its <origin>.
- Fixed joints are lumped, and every link remains available as a frame; mimic joints have no coordinate.
- A moving link without an <inertial> is listed as missing: kinematics works, and so does dynamics if a link outboard of
  it has inertia.
- Shapes are read for pictures and distances (`describe.urdf.parts`). Other tags that do not affect motion are ignored;
  an optional tag without its value counts as missing. Everything else that is wrong is an error with its line.
- Leftover xacro tags are ignored with a warning if the rest describes a robot (`describe.urdf.xacro`), and so are
  mistakes that other readers tolerate (`describe.urdf.ignored`).

What URDF cannot express is written in tags and attributes that other readers ignore:

    <appell gravity="0 -9.81 0" home="0.1 0.2" hidden_root="true"> <free link="arm"/> </appell>      in <robot>
    <appell massless="true"/>                                                                       in <link>
    <appell rotor_inertia="2e-4" static="0.3" .../>                                                 in <joint>
    <origin xyz="..." rpy="..." rotation="nine numbers"/>             if rpy gives the rotation only up to rounding
    <limit lower="-1e9" ... known="velocity effort"/>                 if other readers require numbers
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from appell.describe.build import Builder
from appell.describe.diagnostics import ErrorCollector, warn_ignored
from appell.describe.urdf.ignored import remove_ignored
from appell.describe.urdf.parts import Gearing, body_options, read_collisions, read_gearings, read_joint, read_visuals
from appell.describe.urdf.xacro import check_expanded, unexpanded_tags
from appell.describe.visuals import MeshFiles
from appell.describe.xml import Element, parse
from appell.errors import unknown_name
from appell.model.robot import GRAVITY, Robot

TREE = "a tree; close its loops with ap.load(path, loops=[ap.Hinge(one_frame, other_frame)])"


def read_urdf(
    text: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    files: MeshFiles | None = None,
) -> Robot:
    """Return the robot of a URDF document.

    Parameters
    ----------
    text : the document
    base, physical, mimic : as in `load`
    source : name of the text in messages
    files : finds mesh files
    """
    document = parse(text, source)
    if document.tag != "robot":
        raise document.error(f"the outermost tag is <{document.tag}>.", expected="<robot>")
    notes = remove_ignored(document)
    with ErrorCollector(source or "the text") as errors:
        try:
            robot = _read(document, errors, files or MeshFiles(), notes, base=base, physical=physical, mimic=mimic)
        finally:
            if errors.collected:
                check_expanded(document)
    assert robot is not None
    warn_ignored([*unexpanded_tags(document), *notes], source)
    return robot


class Edge(NamedTuple):
    """A joint whose child link exists; `parent` is empty if the parent link does not exist."""

    joint: Element
    parent: str
    child: str


def _read(
    document: Element, errors: ErrorCollector, files: MeshFiles, notes: list[str], **options: Any
) -> Robot | None:
    links, joints = _by_name(document, "link", errors), _by_name(document, "joint", errors)
    if not links:
        errors.add(document.error("the robot has no links."))
        return None
    edges = _edges(links, joints, errors)
    root, *others = _roots(document, links, edges, errors)
    builder = _builder(document, root, errors, **options)
    builder.root_body(**body_options(links[root], errors), where=links[root].where)
    carried = {edge.child for edge in edges.values()}
    for other in others:  # an error; attached to the root, so that the links outboard of them are read as well
        if other not in carried:
            builder.fixed(other, parent=root, **body_options(links[other], errors))
    gearings: dict[str, Gearing] = errors.attempt({}, read_gearings, document, joints)
    for name, edge in edges.items():
        parent, gearing = edge.parent or root, gearings.get(name, {})
        read_joint(builder, name, edge.joint, links[edge.child], parent, gearing, errors)
    read_visuals(builder, document, links, files, notes)
    read_collisions(builder, links, files, notes)
    moves = any(part.motion is not None for part in builder.parts)
    return errors.attempt(None, builder.build) if moves or not errors.collected else None


def _builder(document: Element, root: str, errors: ErrorCollector, **options: Any) -> Builder:
    owner = "the robot"
    extra = errors.attempt(None, document.only, "appell") or Element("appell", {}, document.line, document.source)
    given, attempt = extra.attributes, errors.attempt
    names = (attempt("", link.text, "link", owner) for link in extra.all("free"))
    return Builder(
        attempt("robot", document.text, "name", owner),
        root=root,
        hidden_root=given.get("hidden_root") == "true",
        gravity=attempt(GRAVITY, extra.floats, "gravity", 3, owner) if "gravity" in given else GRAVITY,
        home=attempt(None, extra.floats, "home", len(given["home"].split()), owner) if "home" in given else None,
        description=given.get("description", ""),
        reference=given.get("reference", ""),
        source=document.source,
        free=frozenset(name for name in names if name),
        **options,
    )


def _by_name(document: Element, tag: str, errors: ErrorCollector) -> dict[str, Element]:
    elements: dict[str, Element] = {}
    for element in document.all(tag):
        name = errors.attempt("", element.text, "name", f"a {tag}")
        if name in elements:
            problem = f"there are two {tag}s named '{name}', the first on line {elements[name].line}."
            errors.add(element.error(problem))
        elif name:
            elements[name] = element
    return elements


def _edges(links: Mapping[str, Element], joints: Mapping[str, Element], errors: ErrorCollector) -> dict[str, Edge]:
    """Return the joints whose child exists, at most one per child."""
    edges: dict[str, Edge] = {}
    carriers: dict[str, str] = {}
    for name, joint in joints.items():
        parent, child = (errors.attempt("", _end, joint, tag, name, links) for tag in ("parent", "child"))
        if child in carriers:
            first = f"'{carriers[child]}' (line {joints[carriers[child]].line})"
            problem = f"link '{child}' is the child of two joints, {first} and '{name}'."
            errors.add(joint.error(problem, expected=TREE))
        elif child:
            carriers[child] = name
            edges[name] = Edge(joint, parent, child)
    return edges


def _end(joint: Element, tag: str, name: str, links: Mapping[str, Element]) -> str:
    owner = f"joint '{name}'"
    end = joint.need(tag, owner).text("link", owner)
    if end not in links:
        sentence = unknown_name("link", end, links, "The robot")
        raise joint.error(f"{owner} has {tag} '{end}'. {sentence}")
    return end


def _roots(
    document: Element, links: Mapping[str, Element], edges: dict[str, Edge], errors: ErrorCollector
) -> list[str]:
    carried = {edge.child: name for name, edge in edges.items() if edge.parent}
    roots = [name for name in links if name not in carried]
    if not roots:
        problem = "every link is the child of a joint, so the links form a cycle."
        errors.add(document.error(problem, "one root link"))
        roots = [next(iter(links))]
    elif len(roots) > 1 and not errors.collected:  # otherwise it may follow from another error
        names = ", ".join(f"'{name}' (line {links[name].line})" for name in roots[:10])
        problem = f"the robot has {len(roots)} root links: {names}."
        errors.add(document.error(problem, expected="one root link that carries all others"))
    for name in [name for name, edge in edges.items() if edge.child == roots[0]]:
        del edges[name]
    return roots
