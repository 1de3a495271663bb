"""Update the numbers of a URDF file in place, for a robot that was read from it and changed.

Bodies are written to the <inertial> of their links, in its axes; placements to the <origin> of their joints; friction
to <dynamics>; the gear ratio to the <mechanicalReduction> of a transmission, which is added if there is none; the rotor
inertia to its <motorInertia> if there is one, otherwise, like everything URDF cannot express, to <appell> in the joint.
Everything else, including comments, order and white space, is left unchanged.

A moving link may carry other links on fixed joints; identification determines only the sum of their inertias. If the
sum had the pseudo-inertia Σ and now has Σ', the symmetric matrix M with M Σ M = Σ' maps each part Σₖ to M Σₖ M. The new
parts add up to Σ', each of them is physically consistent if it was before, and the change is as small as possible.

    M = Σ^-½ (Σ^½ Σ' Σ^½)^½ Σ^-½                                                                                 (1)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import ZERO, Vec3
from appell.describe.actuator_table import actuator_to_table
from appell.describe.rpy import rpy_of
from appell.describe.urdf.edit_xml import Editor, Tag
from appell.describe.urdf.parts import APPELL_KEYS, DYNAMICS, GEARING, INERTIA, placement
from appell.describe.urdf.read import read_urdf
from appell.describe.urdf.write import transmission_lines
from appell.describe.xml import Element, parse
from appell.errors import ModelWarning
from appell.model.body import Body, Inertia
from appell.model.frame import IDENTITY_POSE
from appell.model.robot import Robot

ROUNDING = 1e-13  # m, or relative to the largest moment: smaller values are written as 0
READ_BACK_TOLERANCE = 1e-12  # relative error of the parameters that reading the new text may have


def edited_urdf(text: str, robot: Robot) -> str | None:
    """Return the text with bodies, joint placements and actuators of the robot; None if it differs in more."""
    before = _read(text)
    if [(link.name, link.joint.name) for link in before.links] != [(k.name, k.joint.name) for k in robot.links]:
        return None
    editor = Editor(text)
    tags = {(tag.name, tag.attributes.get("name", "").strip()): tag for tag in editor.root.children}
    groups, parents = _groups(parse(text))
    root = next(name for name in groups if name not in parents)
    for old, new in zip(before.links, robot.links, strict=True):
        if new.body is not None and new.body != old.body:
            for name, body in _distribute(groups[old.name], old.body, new.body).items():
                _set_body(editor, tags["link", name], groups[old.name][name][1], body)
        if new.joint.placement != old.joint.placement:
            on_carrier = groups[old.parent or root][parents[old.name]][0]
            _set_placement(editor, tags["joint", old.joint.name], on_carrier.inverse @ new.joint.placement)
        before_table, table = actuator_to_table(old.joint.actuator), actuator_to_table(new.joint.actuator)
        changed = {key: x for key, x in table.items() if x is not None and x != before_table[key]}
        if not _set_actuator(editor, tags["joint", old.joint.name], changed, old.joint.name):
            return None
    if robot.name != before.name:
        editor.set(editor.root, {"name": robot.name})
    new_text = editor.text()
    return new_text if _same(_read(new_text), robot) else None


def _read(text: str) -> Robot:
    """Read a robot without warnings, which were issued when the file was first read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return read_urdf(text, physical=False)


def _same(read: Robot, robot: Robot) -> bool:
    for one, two in zip(read.links, robot.links, strict=True):
        if (one.body is None) != (two.body is None) or one.joint.actuator != two.joint.actuator:
            return False
        first, second = (np.array(link.joint.placement.rows, float) for link in (one, two))
        if np.abs(first - second).max() > READ_BACK_TOLERANCE * max(1.0, np.abs(second).max()):
            return False
        if one.body is not None and two.body is not None:
            first, second = (np.array(body.parameters) for body in (one.body, two.body))
            if np.abs(first - second).max() > READ_BACK_TOLERANCE * np.abs(second).max():
                return False
    return read.name == robot.name


# ---- bodies

Group = dict[str, tuple[Pose, Element]]  # pose on the moving link, and the <link>, by name


def _groups(document: Element) -> tuple[dict[str, Group], dict[str, str]]:
    """Return, for every moving link and the root, the link itself and the links fixed to it; and parents by child."""
    links = {link.attributes["name"].strip(): link for link in document.all("link")}
    joints: dict[str, tuple[str, Pose, bool]] = {}  # parent, pose and whether fixed, by child
    for joint in document.all("joint"):
        parent, child = (joint.need(tag, "a joint").text("link", "a joint") for tag in ("parent", "child"))
        joints[child] = parent, placement(joint, "a joint"), joint.attributes.get("type", "").strip() == "fixed"
    groups: dict[str, Group] = {}
    for name, link in links.items():
        carrier, pose = name, IDENTITY_POSE
        while carrier in joints and joints[carrier][2]:
            carrier, joint_pose, _ = joints[carrier]
            pose = joint_pose @ pose
        groups.setdefault(carrier, {})[name] = pose, link
    return groups, {child: parent for child, (parent, *_) in joints.items()}


def _distribute(group: Group, old: Body | None, new: Body) -> dict[str, Body]:
    """Return bodies for the links of a group that add up to the new body, each in the axes of its link."""
    bodies = {name: _body(link) for name, (_, link) in group.items()}
    massive = {name: body for name, body in bodies.items() if body is not None and body.mass > 0.0}
    carrier = next(name for name, (pose, _) in group.items() if pose == IDENTITY_POSE)
    if len(massive) < 2 or old is None:
        only = next(iter(massive), carrier)
        return {only: new.moved(group[only][0].inverse)}
    M = _transport(_sigma(old.about_origin), _sigma(new.about_origin))
    result = {}
    for name, body in massive.items():
        pose = group[name][0]
        moved = M @ _sigma(body.about_origin.moved(pose)) @ M
        result[name] = Body.from_inertia(_inertia(moved).moved(pose.inverse))
    return result


def _body(link: Element) -> Body | None:
    """Return the body of a link in the axes of the link."""
    inertial = link.only("inertial")
    if inertial is None or not inertial.children:
        return None
    mass, tensor = (inertial.need(tag, "a link") for tag in ("mass", "inertia"))
    inertia = Mat3.symmetric(*(tensor.float(key, "a link") for key in INERTIA))
    return Body(mass.float("value", "a link"), ZERO, inertia).moved(placement(inertial, "a link"))


def _transport(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return M of (1)."""
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
        lines = ["<inertial>", *(f"  {line}" for line in _lines(body)), "</inertial>"]
        editor.add(*((tag, lines) if inertial is None else (inertial, _lines(body))))
        return
    R = placement(described, "an inertial").rotation
    inertia = Mat3.symmetric(*(R.T @ body.inertia @ R).upper)
    origin, mass, tensor = (inertial.first(name) for name in ("origin", "mass", "inertia"))
    assert mass is not None
    assert tensor is not None
    com = _numbers(body.com, threshold=ROUNDING)
    if origin is not None:
        editor.set(origin, {"xyz": com})
    elif any(float(word) for word in com.split()):
        editor.add(inertial, [f'<origin xyz="{com}" rpy="0 0 0"/>'])
    editor.set(mass, {"value": repr(float(body.mass))})
    moments = _numbers(inertia.upper, threshold=ROUNDING * max(map(abs, inertia.upper)))
    editor.set(tensor, dict(zip(INERTIA, moments.split(), strict=True)))


def _lines(body: Body) -> list[str]:
    moments = " ".join(f'{key}="{float(x)!r}"' for key, x in zip(INERTIA, body.inertia.upper, strict=True))
    return [
        f'<origin xyz="{_numbers(body.com)}" rpy="0 0 0"/>',
        f'<mass value="{float(body.mass)!r}"/>',
        f"<inertia {moments}/>",
    ]


def _numbers(values, threshold: float = 0.0) -> str:
    """Format numbers in full precision; those with a magnitude up to `threshold` are written as 0."""
    return " ".join(repr(float(x)) if abs(x) > threshold else "0.0" for x in values)


def _set_placement(editor: Editor, joint: Tag, pose: Pose) -> None:
    values = {"xyz": _numbers(pose.translation), "rpy": _numbers(rpy_of(pose.rotation))}
    origin = joint.first("origin")
    if origin is None:
        editor.add(joint, [f'<origin xyz="{values["xyz"]}" rpy="{values["rpy"]}"/>'])
        return
    if "rotation" in origin.attributes:
        values["rotation"] = _numbers(x for row in pose.rotation.rows for x in row)
    editor.set(origin, values)


# ---- actuators


def _set_actuator(editor: Editor, joint: Tag, changed: Mapping[str, float], name: str) -> bool:
    """Write the changed values of an actuator; return False if one of them cannot be written to the joint."""
    texts = {key: repr(float(x)) for key, x in changed.items()}
    dynamics = {DYNAMICS[key]: texts.pop(key) for key in list(texts) if key in DYNAMICS}
    for key in ("rotor_inertia", "gear"):
        if key in texts and _set_gearing(editor, name, key, texts[key]):
            del texts[key]
    if any(key not in APPELL_KEYS for key in texts):
        return False
    added = []
    for tag, values in (("dynamics", dynamics), ("appell", texts)):
        existing = joint.first(tag)
        if values and existing is not None:
            editor.set(existing, values)
        elif values:
            added.append(f"<{tag}" + "".join(f' {key}="{text}"' for key, text in values.items()) + "/>")
    if added:
        editor.add(joint, added)
    return True


def _set_gearing(editor: Editor, joint: str, key: str, text: str) -> bool:
    """Write a number to the transmission of a joint, which is added for a gear ratio; False if none contains it."""
    parents = [editor.root, *editor.root.all("ros2_control")]
    for transmission in (tag for parent in parents for tag in parent.all("transmission")):
        ends = transmission.all("joint")
        if [end.attributes.get("name", "").strip() for end in ends] != [joint]:
            continue
        for element in (*transmission.all("actuator"), *ends, transmission):
            for spelling in GEARING[key]:
                tag = element.first(spelling)
                if tag is not None:
                    editor.write(tag, text)
                    return True
                if spelling in element.attributes:
                    editor.set(element, {spelling: text})
                    return True
    if key == "gear":
        editor.add(editor.root, [line.removeprefix("  ") for line in transmission_lines(joint, float(text))])
    return key == "gear"
