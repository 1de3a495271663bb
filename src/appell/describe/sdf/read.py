"""Robots in SDF: one <model>, alone or the only one that can move in its <world>.

A joint stands anywhere on its child, so the link that moves is placed at the joint, and bears the name of the child
where the two coincide; where they do not, the child is a frame of it. What acts on motion and is not known here
(a second axis, a screw, a gearbox, added mass, a link without gravity) is refused with its line. Shapes are read for
those who look, sensors and plugins are passed over, as in URDF.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appell.algebra.rotation import Pose
from appell.describe.build import Builder
from appell.describe.flaws import Flaws
from appell.describe.looks import MeshFiles
from appell.describe.sdf.parts import actuator_of_axis, axis_of, body_of, limits_of, mimic_of, number_in
from appell.describe.sdf.poses import Named, Places, child_text, composed, numbers_of, pose_of
from appell.describe.sdf.visuals import read_visuals
from appell.describe.urdf.leniency import warn_of
from appell.describe.values import plain, shortened
from appell.describe.xml import Element, parse
from appell.errors import DescriptionError
from appell.model.actuator import Actuator, Friction
from appell.model.frame import IN_PLACE
from appell.model.joints import KINDS
from appell.model.limits import NO_LIMITS
from appell.model.robot import GRAVITY, Robot

TYPES = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "ball": "spherical", "fixed": ""}
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # of a <world> that does not say
TRUE = ("true", "1")


def read_sdf(
    text: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    files: MeshFiles | None = None,
) -> Robot:
    """The robot of an SDF document; `files` finds the meshes that it names."""
    document = parse(text, source)
    if document.tag != "sdf":
        raise document.error(f"the outermost tag is <{document.tag}>.", expected="<sdf>")
    version = plain(document.attributes.get("version", "1.7").strip()) or 1.7
    model, gravity = _the_model(document)
    notes: list[str] = []
    with Flaws(source or "the text") as flaws:
        options = {"base": base, "physical": physical, "mimic": mimic, "gravity": gravity}
        robot = flaws.tried(None, _read, model, version, flaws, notes, files or MeshFiles(), **options)
    assert robot is not None
    warn_of(notes, source)
    return robot


def _the_model(document: Element) -> tuple[Element, Any]:
    models, gravity = list(document.all("model")), GRAVITY
    for world in document.all("world"):
        if (include := next(world.all("include"), None)) is not None:
            raise include.error("<include> names another file, which appell does not fetch.")
        models += world.all("model")
        told = world.only("gravity")
        gravity = WORLD_GRAVITY if told is None else numbers_of(told, 3, "<gravity>")  # type: ignore[assignment]
    moving = [model for model in models if not _is_true(model, "static")]
    if len(moving) != 1:
        names = ", ".join(shortened(model.attributes.get("name", "")) for model in moving) or "none"
        problem = f"there are {len(moving)} models that can move: {names}."
        raise document.error(problem, expected="one <model>, or one that is not static in a <world>")
    return moving[0], gravity


def _is_true(element: Element, tag: str) -> bool:
    child = element.only(tag)
    return child is not None and child.content.strip().lower() in TRUE


def _read(
    model: Element,
    version: float,
    flaws: Flaws,
    notes: list[str],
    files: MeshFiles,
    *,
    base: str,
    gravity: Any,
    **options: Any,
) -> Robot:
    places = Places.of(model)
    _refuse_strangers(model, places, flaws)
    joints = {name: part for name, part in places.of_tag("joint")}
    links = {name: part for name, part in places.of_tag("link")}
    if not links:
        raise model.error("the model has no links.")
    carried = _carried(places, joints, flaws)
    flaws.tell()
    root = _root(model, links, carried, base)
    at = pose_of(model.only("pose"), "the model")
    builder = Builder(
        model.text("name", "the model"),
        base=base,
        root=root,
        at=IN_PLACE if root is None else composed(at, places.pose(root, model)),
        gravity=gravity,
        source=model.source,
        **options,
    )
    if root is not None:
        builder.root_body(body=flaws.tried(None, body_of, links[root].element, f"link '{root}'"))
    for name, part in links.items():
        if part.element.only("inertial") is None:
            notes.append(f"link '{name}' without an <inertial> weighs 1 kg, as SDF says (line {part.element.line})")
    stands: dict[str, tuple[str | None, Pose]] = {"world": (None, at.inverse)}
    if root is not None:
        stands[root] = (root, places.pose(root, model))
    for child in _outward(carried, stands):
        _add(builder, places, stands, carried[child], child, links[child].element, version, flaws)
    for name, part in places.of_tag("frame"):
        carrier = places.link(name, part.element)
        if carrier in stands:
            link, there = stands[carrier]
            builder.frame(name, on=link, at=composed(there.inverse, places.pose(name, part.element)))
    for name, part in links.items():
        read_visuals(builder, places, name, part, files, notes)
    return builder.build()


def _refuse_strangers(model: Element, places: Places, flaws: Flaws) -> None:
    for inner in [model, *(part.element for _, part in places.of_tag("model"))]:
        for include in inner.all("include"):
            flaws.add(include.error("<include> names another file, which appell does not fetch."))
        for joint in inner.all("gripper"):
            flaws.add(joint.error("<gripper> fastens what it holds, which appell does not know."))
    for name, part in places.of_tag("link"):
        if name == "world":
            flaws.add(part.element.error("a link is named 'world', which SDF keeps for the world itself."))
        told = part.element.only("gravity")
        if told is not None and told.content.strip().lower() not in TRUE:
            flaws.add(told.error(f"link '{name}' has no gravity, and others have."))
        if _is_true(part.element, "kinematic"):
            flaws.add(part.element.error(f"link '{name}' is kinematic: moved from outside."))
    for name, part in places.of_tag("joint"):
        kind = part.element.attributes.get("type", "").strip()
        if kind not in TYPES:
            flaws.add(part.element.error(f"joint '{name}' has type {shortened(kind)}.", expected=", ".join(TYPES)))
        elif (second := part.element.only("axis2")) is not None:
            flaws.add(second.error(f"joint '{name}' has a second axis.", expected="two joints"))
        for motor in part.element.all("screw_thread_pitch"):
            if kind == "screw":
                flaws.add(motor.error(f"joint '{name}' is a screw."))


Edge = tuple[str, Named, str]  # a joint, its part, and the link it stands on


def _carried(places: Places, joints: dict[str, Named], flaws: Flaws) -> dict[str, Edge]:
    """The joint that carries each link, by the link."""
    found: dict[str, Edge] = {}
    for name, part in joints.items():
        element, who = part.element, f"joint '{name}'"
        parent, child = (places.scoped(child_text(element, tag, who), part.scope) for tag in ("parent", "child"))
        below, above = places.link(parent, element), places.link(child, element)
        if above == "world":
            flaws.add(element.error(f"{who} carries the world.", expected="the world as its parent"))
        elif above in found:
            problem = f"link '{above}' is carried by two joints, '{found[above][0]}' and '{name}': a loop."
            hint = "leave one out, and close the loop: ap.load(path, loops=[ap.Hinge(one_frame, another)])"
            flaws.add(element.error(problem, hint=hint))
        else:
            found[above] = (name, part, below)
    return found


def _root(model: Element, links: dict[str, Named], carried: dict[str, Edge], base: str) -> str | None:
    """The link that no joint carries; None if the model stands on the world by a joint of its own."""
    roots = [name for name in links if name not in carried]
    on_world = [name for name, edge in carried.items() if edge[2] == "world"]
    if on_world and base != "fixed":
        raise model.error(f"link '{on_world[0]}' stands on the world, so that base='{base}' means nothing.")
    if len(roots) + bool(on_world) != 1:
        told = ", ".join(map(repr, roots[:5])) or "none"
        problem = f"the model has {len(roots)} links that no joint carries: {told}."
        raise model.error(problem, expected="one root, or a joint on the world")
    return roots[0] if roots else None


def _outward(carried: dict[str, Edge], stands: dict[str, Any]) -> Iterator[str]:
    """The links, each after the one it stands on, as far as they hang together."""
    waiting = list(carried)
    while waiting:
        ready = [child for child in waiting if carried[child][2] in stands]
        if not ready:
            problem = f"links carry each other in a circle: {', '.join(waiting[:5])}."
            raise DescriptionError(problem, source=carried[waiting[0]][1].element.where)
        yield ready[0]
        waiting.remove(ready[0])


def _add(
    builder: Builder,
    places: Places,
    stands: dict[str, tuple[str | None, Pose]],
    edge: Edge,
    child: str,
    link: Element,
    version: float,
    flaws: Flaws,
) -> None:
    name, part, below = edge
    element, who, tried = part.element, f"joint '{name}'", flaws.tried
    carrier, there = stands[below]
    here, own = tried(IN_PLACE, places.pose, name, element), tried(IN_PLACE, places.pose, child, link)
    body = tried(None, body_of, link, f"link '{child}'")
    kind = TYPES[element.attributes["type"].strip()]
    shared: dict[str, Any] = {"parent": carrier, "joint_name": name, "where": element.where, "body_where": link.where}
    if not kind:
        builder.fixed(child, at=composed(there.inverse, own), body=body, **shared)
        stands[child] = child, own
        return
    offset = composed(here.inverse, own)
    same = max(abs(x) for row in offset.rows for x in row[3:]) == 0.0 and offset.rotation == IN_PLACE.rotation
    motion = KINDS[kind]
    limits = NO_LIMITS if kind in ("continuous", "spherical") else tried(NO_LIMITS, limits_of, element, who)
    drive = _ball_drive(element, who) if kind == "spherical" else tried(Actuator(), actuator_of_axis, element, who)
    moves = motion() if kind == "spherical" else tried(motion(), lambda: motion(axis_of(places, name, part, version)))  # type: ignore[call-arg]
    builder.link(
        child if same else f"{child}/{name}",
        moves,
        at=composed(there.inverse, here),
        body=None if body is None else body if same else body.moved(offset),
        limits=limits,
        mimic=tried(None, mimic_of, element, part.scope, who),
        actuator=drive,
        **shared,
    )
    if not same:
        builder.frame(child, on=f"{child}/{name}", at=offset)
    stands[child] = (child if same else f"{child}/{name}"), here


def _ball_drive(joint: Element, who: str) -> Actuator:
    axis = joint.only("axis")
    dynamics = axis.only("dynamics") if axis is not None else None
    return Actuator(friction=Friction(number_in(dynamics, "damping", who, 0.0)))
