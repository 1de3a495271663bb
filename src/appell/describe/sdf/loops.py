"""Loops of an SDF model: a spanning tree of its joints, and the other joints as constraints.

A model whose links have several parents contains loops. Its joints are the edges of a graph of links; the spanning tree
takes them in this order, and in the order of the file within a group (Kruskal's algorithm):

    fixed joints; joints with springs, damping, friction, limits or mimics; other joints of one axis; balls; universals

A constraint has neither a spring nor a limit, so joints that have one are kept in the tree where possible. Starting at
the root, joints whose parent is farther from the root than their child are reversed: the child carries the parent. The
axis is then negated, so that the coordinate of the joint keeps its meaning, the position of the child in the parent.

Each remaining joint closes a loop between its parent and its child, which are assembled at q = 0:

    revolute, continuous Hinge      prismatic Slider      ball Point      universal Universal

A fixed joint remains only if all joints of its loop are fixed; it has no effect.

A gearbox couples two joints. With the angles θ₁ of its parent and θ₂ of its child relative to the reference body, about
`<axis>` and `<axis2>`, it requires θ₂ + ratio θ₁ = 0: a Gear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from appell.algebra.rotation import Pose, rotation_of_z_to
from appell.algebra.vector import Vec3
from appell.describe.build import Builder
from appell.describe.sdf.parts import actuator_of_axis, axis_of, limits_of, mimic_of, number_in
from appell.describe.sdf.poses import NamedPart, PoseGraph, child_text, compose
from appell.errors import AppellError
from appell.model.actuator import IDEAL, Friction
from appell.model.constraint import Closure, Constraint, Gear, Hinge, Point, Slider, Universal
from appell.model.limits import NO_LIMITS
from appell.model.robot import Mimic
from appell.model.visual import Attachment

CONSTRAINTS: Mapping[str, type[Closure]] = {
    "revolute": Hinge,
    "continuous": Hinge,
    "prismatic": Slider,
    "ball": Point,
    "universal": Universal,
}
AXIS_OF_SIDE = {"parent": "axis", "child": "axis2"}  # tags of the two axes of a universal joint
NO_FRICTION = Friction()
PARALLEL_TOLERANCE = 1e-6  # largest deviation of the cosine of two parallel axes from ±1


@dataclass(frozen=True)
class JointEdge:
    """A joint between two links. If it is reversed, the child carries the parent."""

    name: str
    part: NamedPart
    parent: str
    child: str
    is_reversed: bool = False

    @property
    def kind(self) -> str:
        return self.part.element.attributes.get("type", "").strip()

    @property
    def owner(self) -> str:
        return f"joint '{self.name}'"

    @property
    def carrier(self) -> str:
        return self.child if self.is_reversed else self.parent

    @property
    def carried(self) -> str:
        return self.parent if self.is_reversed else self.child


def edges_of(graph: PoseGraph, kinds: Sequence[str]) -> Iterator[JointEdge]:
    """Yield the joints of these kinds, in the order of the file."""
    for name, part in graph.of_tag("joint"):
        if part.element.attributes.get("type", "").strip() in kinds:
            ends = (child_text(part.element, tag, f"joint '{name}'") for tag in ("parent", "child"))
            parent, child = (graph.link_of(graph.scoped(end, part.scope), part.element) for end in ends)
            yield JointEdge(name, part, parent, child)


def spanning_tree(edges: Sequence[JointEdge], root: str) -> tuple[list[JointEdge], list[JointEdge]]:
    """Return the joints that carry links, each after the joint of its carrier, and the joints that close loops.

    Parameters
    ----------
    edges : joints of the model, in the order of the file
    root : name of the root link, or "world"
    """
    leaders = {mimic.leader for edge in edges if (mimic := _mimic(edge)) is not None}
    group: dict[str, str] = {}

    def representative(link: str) -> str:
        while link in group:
            link = group[link]
        return link

    tree, closing = [], []
    for edge in sorted(edges, key=lambda edge: _rank(edge, leaders)):  # stable: the order of the file in each group
        one, other = representative(edge.parent), representative(edge.child)
        if one == other:
            closing += [edge] if edge.kind != "fixed" else []
        else:
            group[one] = other
            tree.append(edge)
    order = {edge.name: k for k, edge in enumerate(edges)}
    closing.sort(key=lambda edge: order[edge.name])
    waiting = sorted(tree, key=lambda edge: order[edge.name])
    reached, ordered = {root}, []
    while connected := [edge for edge in waiting if edge.parent in reached or edge.child in reached]:
        first = connected[0]
        waiting.remove(first)
        ordered.append(first if first.parent in reached else replace(first, is_reversed=True))
        reached |= {first.parent, first.child}
    return ordered, closing


def _rank(edge: JointEdge, leaders: set[str]) -> int:
    if edge.kind == "fixed":
        return 0
    if edge.name in leaders or _mimic(edge) is not None or not _is_ideal(edge):
        return 1
    return {"ball": 3, "universal": 4}.get(edge.kind, 2)


def _mimic(edge: JointEdge) -> Mimic | None:
    try:
        return mimic_of(edge.part.element, edge.part.scope, edge.owner)
    except AppellError:  # reported when the joint is added
        return None


def _is_ideal(edge: JointEdge) -> bool:
    element = edge.part.element
    try:
        return (actuator_of_axis(element, edge.owner), limits_of(element, edge.owner)) == (IDEAL, NO_LIMITS)
    except AppellError:  # reported when the joint is added
        return False


def closure(
    builder: Builder, graph: PoseGraph, attachments: Mapping[str, Attachment], edge: JointEdge, version: float
) -> Constraint:
    """Return the constraint of a joint that closes a loop, between two frames that are added for it.

    Parameters
    ----------
    builder : receives the frames `joint/child` and `joint/parent`
    graph : poses of the model
    attachments : for each link, the link of the robot that carries it and the pose of that link in the model
    edge : the joint
    version : version of SDF
    """
    element, owner = edge.part.element, edge.owner
    actuator = actuator_of_axis(element, owner)
    if actuator.stiffness or actuator.friction != NO_FRICTION or mimic_of(element, edge.part.scope, owner) is not None:
        raise element.error(
            f"{owner} closes a loop and has a spring, damping, friction or a mimic, which appell supports only for "
            "joints that carry a link.",
            expected="at least one joint of the loop without them",
        )
    pose = graph.pose(edge.name, element)
    poses = {"child": pose, "parent": pose}
    if edge.kind == "universal":
        axes = {side: axis_of(graph, edge.name, edge.part, version, tag) for side, tag in AXIS_OF_SIDE.items()}
        if abs(axes["parent"].dot(axes["child"])) > PARALLEL_TOLERANCE:
            raise element.error(f"the two axes of {owner} are not perpendicular.", expected="perpendicular axes")
        poses = {side: _with_z_along(pose, axis) for side, axis in axes.items()}
    elif edge.kind != "ball":
        axis = axis_of(graph, edge.name, edge.part, version)
        poses = dict.fromkeys(poses, _with_z_along(pose, axis))
    for side, link in (("child", edge.child), ("parent", edge.parent)):
        carrier, carrier_pose = attachments[link]
        builder.frame(f"{edge.name}/{side}", on=carrier, at=compose(carrier_pose.inverse, poses[side]))
    return CONSTRAINTS[edge.kind](f"{edge.name}/child", f"{edge.name}/parent", name=edge.name)


def _with_z_along(pose: Pose, axis: Vec3) -> Pose:
    return compose(pose, Pose(rotation_of_z_to(axis)))


def gear(graph: PoseGraph, tree: Sequence[JointEdge], box: JointEdge, version: float) -> Gear:
    """Return the constraint of a gearbox between two joints of the tree, each on the reference body.

    Parameters
    ----------
    graph : poses of the model
    tree : joints that carry links
    box : the gearbox
    version : version of SDF
    """
    element, owner = box.part.element, box.owner
    named = graph.scoped(child_text(element, "gearbox_reference_body", owner), box.part.scope)
    reference = graph.link_of(named, element)
    ratio = number_in(element, "gearbox_ratio", owner, 1.0)
    ratios: dict[str, float] = {}
    for link, tag, share in ((box.child, "axis2", 1.0), (box.parent, "axis", ratio)):
        hinge = next((edge for edge in tree if {edge.parent, edge.child} == {link, reference}), None)
        if hinge is None or hinge.kind not in ("revolute", "continuous"):
            problem = f"{owner} relates link '{link}' to '{reference}', which no revolute joint connects."
            raise element.error(problem, expected="revolute joints from <gearbox_reference_body> to parent and child")
        along = graph.pose(box.name, element).rotation @ axis_of(graph, box.name, box.part, version, tag)
        axis = graph.pose(hinge.name, element).rotation @ axis_of(graph, hinge.name, hinge.part, version)
        cosine = along.dot(axis) * (1.0 if hinge.parent == reference else -1.0)
        if 1.0 - abs(cosine) > PARALLEL_TOLERANCE:
            raise element.error(f"<{tag}> of {owner} is not parallel to the axis of {hinge.owner}.")
        ratios[hinge.name] = ratios.get(hinge.name, 0.0) + (share if cosine > 0.0 else -share)
    return Gear(ratios, name=box.name)
