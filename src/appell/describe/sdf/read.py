"""Read robots from SDF: one <model>, alone or the only one in its <world> that is not static.

In SDF a joint may be anywhere on its child. The moving link is therefore placed at the joint; it has the name of the
child if the two frames coincide, otherwise the child is a frame on it. Joints that close loops, and gearboxes, become
constraints (`loops`). Elements that affect motion but are not supported (a screw, a second axis of a joint that carries
a link, added mass, a link without gravity) are errors with their line. Shapes are read for visualisation; sensors and
plugins are ignored, as in URDF.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS
from appell.describe.build import Builder, close_loops
from appell.describe.diagnostics import ErrorCollector, warn_ignored
from appell.describe.sdf.loops import JointEdge, closure, edges_of, gear, spanning_tree
from appell.describe.sdf.parts import actuator_of_axis, axis_of, body_of, limits_of, mimic_of, number_in
from appell.describe.sdf.poses import NamedPart, PoseGraph, compose, numbers_of, pose_of
from appell.describe.sdf.visuals import read_visuals
from appell.describe.values import parse_decimal, shortened
from appell.describe.visuals import MeshFiles
from appell.describe.xml import Element, parse
from appell.model.actuator import Actuator, Friction
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import KINDS
from appell.model.limits import NO_LIMITS
from appell.model.robot import GRAVITY, ConstrainedRobot, Robot

TYPES = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "ball": "spherical", "fixed": ""}
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # default of a <world>, m/s²
CLOSING_TYPES = ("universal", "gearbox")  # supported only as constraints
TRUE = ("true", "1")
INCLUDE = "<include> refers to another file, which appell does not support."


def read_sdf(
    text: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    files: MeshFiles | None = None,
) -> Robot | ConstrainedRobot:
    """Return the robot of an SDF document.

    Parameters
    ----------
    text : the document
    base, physical, mimic : as in `load`
    source : name of the text in messages
    files : finds mesh files
    """
    document = parse(text, source)
    if document.tag != "sdf":
        raise document.error(f"the outermost tag is <{document.tag}>.", expected="<sdf>")
    version = parse_decimal(document.attributes.get("version", "1.7").strip()) or 1.7
    model, gravity = _moving_model(document)
    notes: list[str] = []
    with ErrorCollector(source or "the text") as errors:
        options = {"base": base, "physical": physical, "mimic": mimic, "gravity": gravity}
        robot = errors.attempt(None, _read, model, version, errors, notes, files or MeshFiles(), **options)
    assert robot is not None
    warn_ignored(notes, source)
    return robot


def _moving_model(document: Element) -> tuple[Element, Any]:
    """Return the only model that is not static, and gravity."""
    models, gravity = list(document.all("model")), GRAVITY
    for world in document.all("world"):
        if (include := next(world.all("include"), None)) is not None:
            raise include.error(INCLUDE)
        models += world.all("model")
        tag = world.only("gravity")
        gravity = WORLD_GRAVITY if tag is None else numbers_of(tag, 3, "<gravity>")  # type: ignore[assignment]
    moving = [model for model in models if not _is_true(model, "static")]
    if len(moving) != 1:
        names = ", ".join(shortened(model.attributes.get("name", "")) for model in moving) or "none"
        problem = f"there are {len(moving)} models that are not static: {names}."
        raise document.error(problem, expected="one <model>, or a <world> with one model that is not static")
    return moving[0], gravity


def _is_true(element: Element, tag: str) -> bool:
    child = element.only(tag)
    return child is not None and child.content.strip().lower() in TRUE


def _read(
    model: Element,
    version: float,
    errors: ErrorCollector,
    notes: list[str],
    files: MeshFiles,
    *,
    base: str,
    gravity: Any,
    **options: Any,
) -> Robot | ConstrainedRobot:
    graph = PoseGraph.of(model)
    _check_supported(model, graph, errors)
    links = {name: part for name, part in graph.of_tag("link")}
    if not links:
        raise model.error("the model has no links.")
    edges = list(edges_of(graph, (*TYPES, "universal")))
    boxes = list(edges_of(graph, ("gearbox",)))
    for edge in edges:
        if edge.child == "world":
            problem = f"{edge.owner} has the world as its child."
            errors.add(edge.part.element.error(problem, expected="the world as its parent"))
    errors.raise_collected()
    root = _root(model, links, edges, base)
    tree, closing = spanning_tree(edges, root or "world")
    _check_connected(model, links, tree, root)
    graph.has_loops = bool(closing)
    at = pose_of(model.only("pose"), "the model")
    builder = Builder(
        model.text("name", "the model"),
        base=base,
        root=root,
        at=IDENTITY_POSE if root is None else compose(at, graph.pose(root, model)),
        gravity=gravity,
        source=model.source,
        **options,
    )
    if root is not None:
        builder.root_body(body=errors.attempt(None, body_of, links[root].element, f"link '{root}'"))
    for name, part in links.items():
        if part.element.only("inertial") is None:
            notes.append(
                f"link '{name}' has no <inertial> and gets the mass of 1 kg that SDF defines (line {part.element.line})"
            )
    attachments: dict[str, tuple[str | None, Pose]] = {"world": (None, at.inverse)}
    if root is not None:
        attachments[root] = (root, graph.pose(root, model))
    for edge in tree:
        _add(builder, graph, attachments, edge, links[edge.carried].element, version, errors)
    constraints = []
    for edge in (*closing, *boxes):
        if edge in boxes:
            constraint: Any = errors.attempt(None, gear, graph, tree, edge, version)
        else:
            constraint = errors.attempt(None, closure, builder, graph, attachments, edge, version)
            if errors.attempt(NO_LIMITS, limits_of, edge.part.element, edge.owner) != NO_LIMITS:
                notes.append(f"the limits of {edge.owner}, which closes a loop (line {edge.part.element.line})")
        constraints.append((constraint, edge.part.element.where))
    for name, part in graph.of_tag("frame"):
        carrier = graph.link_of(name, part.element)
        if carrier in attachments:
            link, link_pose = attachments[carrier]
            builder.frame(name, on=link, at=compose(link_pose.inverse, graph.pose(name, part.element)))
    for name, part in links.items():
        read_visuals(builder, graph, name, part, files, notes)
    if graph.rounded_lines:
        lines = ", ".join(map(str, sorted(graph.rounded_lines)[:3]))
        notes.append(
            f"{len(graph.rounded_lines)} poses with angles that are multiples of π/2 to their printed digits, which "
            f"are read as exact multiples, because the model has loops (lines {lines}, ...)"
        )
    robot = builder.build()
    return close_loops(robot, constraints) if constraints and not errors.collected else robot


def _check_supported(model: Element, graph: PoseGraph, errors: ErrorCollector) -> None:
    for inner in [model, *(part.element for _, part in graph.of_tag("model"))]:
        for include in inner.all("include"):
            errors.add(include.error(INCLUDE))
        for gripper in inner.all("gripper"):
            errors.add(gripper.error("the model has a <gripper>, which appell does not support."))
    for name, part in graph.of_tag("link"):
        if name == "world":
            errors.add(part.element.error("a link is named 'world', a name that SDF reserves."))
        gravity = part.element.only("gravity")
        if gravity is not None and gravity.content.strip().lower() not in TRUE:
            errors.add(gravity.error(f"link '{name}' disables gravity, which appell does not support."))
        if _is_true(part.element, "kinematic"):
            errors.add(part.element.error(f"link '{name}' is kinematic, which appell does not support."))
    for name, part in graph.of_tag("joint"):
        kind = part.element.attributes.get("type", "").strip()
        if kind not in (*TYPES, *CLOSING_TYPES):
            expected = ", ".join((*TYPES, *CLOSING_TYPES))
            errors.add(part.element.error(f"joint '{name}' has type {shortened(kind)}.", expected=expected))
        elif kind not in CLOSING_TYPES and (second := part.element.only("axis2")) is not None:
            errors.add(
                second.error(f"joint '{name}' has a second axis, which appell does not support.", expected="two joints")
            )


def _root(model: Element, links: dict[str, NamedPart], edges: list[JointEdge], base: str) -> str | None:
    """Return the first link that is not the child of a joint; None if a joint connects the model to the world."""
    on_world = [edge.child for edge in edges if edge.parent == "world"]
    if on_world and base != "fixed":
        raise model.error(f"base='{base}' does not apply, because a joint connects link '{on_world[0]}' to the world.")
    children = {edge.child for edge in edges}
    return None if on_world else next((name for name in links if name not in children), next(iter(links)))


def _check_connected(model: Element, links: dict[str, NamedPart], tree: list[JointEdge], root: str | None) -> None:
    connected = {root, *(edge.carried for edge in tree)}
    if apart := [name for name in links if name not in connected]:
        first = "the world" if root is None else f"the root link '{root}'"
        problem = f"no joints connect {first} with {', '.join(map(repr, apart[:5]))}."
        raise model.error(problem, expected="one model whose joints connect all links")


def _add(
    builder: Builder,
    graph: PoseGraph,
    attachments: dict[str, tuple[str | None, Pose]],
    edge: JointEdge,
    link: Element,
    version: float,
    errors: ErrorCollector,
) -> None:
    """Add a link and the joint that carries it (`edge`) to the builder, and its pose to `attachments`."""
    name, part, child, owner, attempt = edge.name, edge.part, edge.carried, edge.owner, errors.attempt
    element = part.element
    carrier, carrier_pose = attachments[edge.carrier]
    joint_pose = attempt(IDENTITY_POSE, graph.pose, name, element)
    link_pose = attempt(IDENTITY_POSE, graph.pose, child, link)
    body = attempt(None, body_of, link, f"link '{child}'")
    if edge.kind not in TYPES:
        problem = f"{owner} has type '{edge.kind}', which appell supports only where it closes a loop."
        errors.add(element.error(problem, expected=", ".join(TYPES)))
    kind = TYPES.get(edge.kind, "revolute")
    shared: dict[str, Any] = {"parent": carrier, "joint_name": name, "where": element.where, "body_where": link.where}
    if not kind:
        builder.fixed(child, at=compose(carrier_pose.inverse, link_pose), body=body, **shared)
        attachments[child] = child, link_pose
        return
    offset = compose(joint_pose.inverse, link_pose)
    frames_coincide = (
        max(abs(x) for row in offset.rows for x in row[3:]) == 0.0 and offset.rotation == IDENTITY_POSE.rotation
    )
    motion = KINDS[kind]
    limits = NO_LIMITS if kind in ("continuous", "spherical") else attempt(NO_LIMITS, limits_of, element, owner)
    actuator = (
        _ball_actuator(element, owner) if kind == "spherical" else attempt(Actuator(), actuator_of_axis, element, owner)
    )
    joint = motion()
    if kind != "spherical":
        axis = attempt(UNITS[2], axis_of, graph, name, part, version)
        joint = motion(-axis if edge.is_reversed else axis)  # type: ignore[call-arg]
    builder.link(
        child if frames_coincide else f"{child}/{name}",
        joint,
        at=compose(carrier_pose.inverse, joint_pose),
        body=None if body is None else body if frames_coincide else body.moved(offset),
        limits=limits,
        mimic=attempt(None, mimic_of, element, part.scope, owner),
        actuator=actuator,
        **shared,
    )
    if not frames_coincide:
        builder.frame(child, on=f"{child}/{name}", at=offset)
    attachments[child] = (child if frames_coincide else f"{child}/{name}"), joint_pose


def _ball_actuator(joint: Element, owner: str) -> Actuator:
    axis = joint.only("axis")
    dynamics = axis.only("dynamics") if axis is not None else None
    return Actuator(friction=Friction(number_in(dynamics, "damping", owner, 0.0)))
