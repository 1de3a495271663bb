"""A URDF file with other numbers: what a robot read from it has become, written where the file had it.

Bodies go to the <inertial> of their links, in the axes that these have; friction to <dynamics>; a rotor's inertia to
the <motorInertia> of a transmission if there is one, and like all that URDF has no words for to <appell> in the joint.
Everything else, comments and order and blanks, is left as it stands.

A moving link may carry others on fixed joints, of which identification only sees the sum. If Σ was the pseudo-inertia
of the sum and Σ' is, the symmetric M with M Σ M = Σ' takes each part Σₖ to M Σₖ M: the parts add up to Σ', each can
exist if it could before, and as little moves as possible.

    M = Σ^-½ (Σ^½ Σ' Σ^½)^½ Σ^-½                                                                                 (1)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import ZERO, Vec3
from appell.describe.drives import table_of
from appell.describe.urdf.edit_xml import Editor, Tag
from appell.describe.urdf.parts import DYNAMICS, GEARING, INERTIA, UNSPOKEN, placement
from appell.describe.urdf.read import read_urdf
from appell.describe.xml import Element, parse
from appell.errors import ModelWarning
from appell.model.body import Body, Inertia
from appell.model.frame import IN_PLACE
from appell.model.robot import Robot

ROUNDING = 1e-13  # of a metre, or of the largest moment
SAME = 1e-12  # relative: what reading the text again must give


def edited_urdf(text: str, robot: Robot) -> str | None:
    """The text with the bodies and actuators of a robot that was read from it; None if it differs in more."""
    before = _read(text)
    if [(link.name, link.joint.name) for link in before.links] != [(k.name, k.joint.name) for k in robot.links]:
        return None
    editor = Editor(text)
    tags = {(tag.name, tag.attributes.get("name", "").strip()): tag for tag in editor.root.children}
    groups = _groups(parse(text))
    for old, new in zip(before.links, robot.links, strict=True):
        if new.body is not None and new.body != old.body:
            for name, body in _shared(groups[old.name], old.body, new.body).items():
                _set_body(editor, tags["link", name], groups[old.name][name][1], body)
        own, other = table_of(old.joint.actuator), table_of(new.joint.actuator)
        changed = {key: x for key, x in other.items() if x is not None and x != own[key]}
        if not _set_drive(editor, tags["joint", old.joint.name], changed, old.joint.name):
            return None
    if robot.name != before.name:
        editor.set(editor.root, {"name": robot.name})
    found = editor.text()
    return found if _same(_read(found), robot) else None


def _read(text: str) -> Robot:
    """The robot of a text about which all has been said before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return read_urdf(text, physical=False)


def _same(read: Robot, robot: Robot) -> bool:
    for one, two in zip(read.links, robot.links, strict=True):
        if (one.body is None) != (two.body is None) or one.joint.actuator != two.joint.actuator:
            return False
        if one.body is not None and two.body is not None:
            first, second = (np.array(body.parameters) for body in (one.body, two.body))
            if np.abs(first - second).max() > SAME * np.abs(second).max():
                return False
    return read.name == robot.name


# ---- bodies

Group = dict[str, tuple[Pose, Element]]  # by name: the place on the moving link, and the <link>


def _groups(document: Element) -> dict[str, Group]:
    """For every link that moves, or is the root, itself and those fixed to it."""
    links = {link.attributes["name"].strip(): link for link in document.all("link")}
    below: dict[str, tuple[str, Pose, bool]] = {}
    for joint in document.all("joint"):
        parent, child = (joint.need(tag, "a joint").text("link", "a joint") for tag in ("parent", "child"))
        below[child] = parent, placement(joint, "a joint"), joint.attributes.get("type", "").strip() == "fixed"
    groups: dict[str, Group] = {}
    for name, link in links.items():
        carrier, place = name, IN_PLACE
        while carrier in below and below[carrier][2]:
            carrier, step, _ = below[carrier]
            place = step @ place
        groups.setdefault(carrier, {})[name] = place, link
    return groups


def _shared(group: Group, old: Body | None, new: Body) -> dict[str, Body]:
    """The bodies of the links of a group that make up the new one, each in its own axes."""
    bodies = {name: _body(link) for name, (_, link) in group.items()}
    some = {name: body for name, body in bodies.items() if body is not None and body.mass > 0.0}
    carrier = next(name for name, (place, _) in group.items() if place == IN_PLACE)
    if len(some) < 2 or old is None:
        only = next(iter(some), carrier)
        return {only: new.moved(group[only][0].inverse)}
    M = _transport(_sigma(old.about_origin), _sigma(new.about_origin))
    found = {}
    for name, body in some.items():
        place = group[name][0]
        moved = M @ _sigma(body.about_origin.seen_from(place)) @ M
        found[name] = Body.from_inertia(_inertia(moved).seen_from(place.inverse))
    return found


def _body(link: Element) -> Body | None:
    """The body of a link in its own axes."""
    inertial = link.only("inertial")
    if inertial is None or not inertial.children:
        return None
    mass, tensor = (inertial.need(tag, "a link") for tag in ("mass", "inertia"))
    inertia = Mat3.symmetric(*(tensor.float(key, "a link") for key in INERTIA))
    return Body(mass.float("value", "a link"), ZERO, inertia).moved(placement(inertial, "a link"))


def _transport(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """M of (1)."""
    half = _power(old, 0.5)
    inverse = _power(old, -0.5)
    return inverse @ _power(half @ new @ half, 0.5) @ inverse


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 1e-300) ** exponent) @ vectors.T


def _sigma(inertia: Inertia) -> np.ndarray:
    return np.array(inertia.pseudo, float)


def _inertia(sigma: np.ndarray) -> Inertia:
    second = Mat3.of((0.5 * (sigma + sigma.T))[:3, :3].tolist())
    return Inertia(float(sigma[3, 3]), Vec3.of(sigma[:3, 3].tolist()), second)


def _set_body(editor: Editor, tag: Tag, link: Element, body: Body) -> None:
    described = link.only("inertial")
    inertial = tag.first("inertial")
    if described is None or inertial is None or not inertial.children:
        whole = ["<inertial>", *(f"  {line}" for line in _lines(body)), "</inertial>"]
        editor.add(*((tag, whole) if inertial is None else (inertial, _lines(body))))
        return
    turn = placement(described, "an inertial").rotation
    inertia = Mat3.symmetric(*(turn.T @ body.inertia @ turn).upper)
    origin, mass, tensor = (inertial.first(name) for name in ("origin", "mass", "inertia"))
    assert mass is not None
    assert tensor is not None
    com = _numbers(body.com, least=ROUNDING)
    if origin is not None:
        editor.set(origin, {"xyz": com})
    elif any(float(word) for word in com.split()):
        editor.add(inertial, [f'<origin xyz="{com}" rpy="0 0 0"/>'])
    editor.set(mass, {"value": repr(float(body.mass))})
    moments = _numbers(inertia.upper, least=ROUNDING * max(map(abs, inertia.upper)))
    editor.set(tensor, dict(zip(INERTIA, moments.split(), strict=True)))


def _lines(body: Body) -> list[str]:
    moments = " ".join(f'{key}="{float(x)!r}"' for key, x in zip(INERTIA, body.inertia.upper, strict=True))
    return [
        f'<origin xyz="{_numbers(body.com)}" rpy="0 0 0"/>',
        f'<mass value="{float(body.mass)!r}"/>',
        f"<inertia {moments}/>",
    ]


def _numbers(values, least: float = 0.0) -> str:
    """In full precision; what is nearer to zero than `least` is zero."""
    return " ".join(repr(float(x)) if abs(x) > least else "0.0" for x in values)


# ---- actuators


def _set_drive(editor: Editor, joint: Tag, changed: Mapping[str, float], name: str) -> bool:
    """Write what changed of an actuator; false for what has no place of its own to be changed in."""
    texts = {key: repr(float(x)) for key, x in changed.items()}
    dynamics = {DYNAMICS[key]: texts.pop(key) for key in list(texts) if key in DYNAMICS}
    if "rotor_inertia" in texts and _set_rotor(editor, name, texts["rotor_inertia"]):
        del texts["rotor_inertia"]
    if any(key not in UNSPOKEN for key in texts):
        return False
    added = []
    for tag, values in (("dynamics", dynamics), ("appell", texts)):
        there = joint.first(tag)
        if values and there is not None:
            editor.set(there, values)
        elif values:
            added.append(f"<{tag}" + "".join(f' {key}="{text}"' for key, text in values.items()) + "/>")
    if added:
        editor.add(joint, added)
    return True


def _set_rotor(editor: Editor, joint: str, text: str) -> bool:
    """The rotor's inertia in the transmission of a joint, if it stands there."""
    homes = [editor.root, *editor.root.all("ros2_control")]
    for transmission in (tag for home in homes for tag in home.all("transmission")):
        ends = transmission.all("joint")
        if [end.attributes.get("name", "").strip() for end in ends] != [joint]:
            continue
        for place in (*transmission.all("actuator"), *ends, transmission):
            for spelling in GEARING["rotor_inertia"]:
                tag = place.first(spelling)
                if tag is not None:
                    editor.write(tag, text)
                    return True
                if spelling in place.attributes:
                    editor.set(place, {spelling: text})
                    return True
    return False
