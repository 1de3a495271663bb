"""What a URDF says about what drives its joints.

    <dynamics damping friction>     viscous and Coulomb friction
    <limit velocity effort>         speed and torque
    <transmission>                  gear, and the rotor's inertia where <motorInertia> is given
    <appell rotor_inertia="..."/>   in <joint>: what URDF has no words for, for appell alone

A transmission stands in <robot> or in <ros2_control>; its <mechanicalReduction> in <actuator>, in <joint> or in itself.
Only simple ones, of one joint, are a gear ratio: differentials, grippers and the like are passed over, and so is one
that names no joint or no reduction. Files of one arm often keep the transmissions of the whole robot, so those of
joints that are not there are passed over with one warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

from appell.describe.drives import KEYS, actuator_of
from appell.describe.xml import Element
from appell.errors import ModelWarning, unknown_name
from appell.model.actuator import Actuator

DYNAMICS = {"viscous": "damping", "coulomb": "friction"}
LIMIT = {"speed": "velocity", "torque": "effort"}
UNSPOKEN = tuple(key for key in KEYS if key not in ("gear", *DYNAMICS, *LIMIT))
SIMPLE = "SimpleTransmission"
GEARING = {"gear": ("mechanicalReduction", "mechanical_reduction"), "rotor_inertia": ("motorInertia", "rotor_inertia")}
Gearing = Mapping[str, float]


def read_actuator(joint: Element, who: str, gearing: Gearing, limited: bool) -> Actuator:
    """What drives a joint: what its tags say (its <limit> only if it has one axis), and what transmissions do."""
    table = dict(gearing)
    dynamics = joint.only("dynamics")
    for key, attribute in DYNAMICS.items():
        if dynamics is not None and dynamics.attributes.get(attribute, "").strip():
            table[key] = dynamics.float(attribute, who)
    for key, attribute in LIMIT.items() if limited else ():
        if (most := limit_of(joint, attribute, who)) is not None:
            table[key] = most
    if (extra := joint.only("appell")) is not None:
        for key in extra.attributes:
            if key not in UNSPOKEN:
                raise extra.error(unknown_name("attribute", key, UNSPOKEN, f"<appell> of {who}"))
            table[key] = extra.float(key, who)
    return actuator_of(table, who, joint.where)


def limit_of(joint: Element, key: str, who: str) -> float | None:
    """A number of a joint's <limit>; None where it is blank, infinite, or said to be unknown."""
    tag = joint.only("limit")
    if tag is None or key not in tag.attributes.get("known", key).split():
        return None
    text = tag.attributes.get(key, "").strip().lower()
    return None if text.lstrip("+-") in ("", "inf", "infinity") else tag.float(key, who)


def read_gearings(document: Element, joints: Mapping[str, Element]) -> dict[str, Gearing]:
    """Gear ratios (and rotor inertias) of the simple transmissions, by joint."""
    found: dict[str, Gearing] = {}
    strangers = []
    for transmission in transmissions(document):
        ends, motors = list(transmission.all("joint")), list(transmission.all("actuator"))
        if not _is_simple(transmission) or len(ends) != 1 or len(motors) > 1:
            continue
        name = ends[0].attributes.get("name", "").strip()
        gearing = _gearing([*motors, *ends, transmission], f"the transmission of joint '{name}'")
        if not (name and gearing):
            continue
        if name not in joints:
            strangers.append(f"'{name}' (line {transmission.line})")
        elif found.setdefault(name, gearing) != gearing:
            raise transmission.error(f"two transmissions of joint '{name}' disagree.", expected="one of them")
    if strangers:
        listed = ", ".join(strangers[:10]) + (f" and {len(strangers) - 10} more" if len(strangers) > 10 else "")
        where = f"\n  read from {document.source}" if document.source else ""
        warnings.warn(f"transmissions of joints that are not there: {listed}.{where}", ModelWarning, stacklevel=2)
    return found


def transmissions(document: Element) -> Iterator[Element]:
    """Those of the robot, and those in its <ros2_control>."""
    yield from document.all("transmission")
    for control in document.all("ros2_control"):
        yield from control.all("transmission")


def _is_simple(transmission: Element) -> bool:
    inside = [child.content for tag in ("type", "plugin") for child in transmission.all(tag)]
    kind = next(filter(None, [transmission.attributes.get("type", ""), *inside]), SIMPLE)
    return kind.strip().endswith(SIMPLE)


def _gearing(places: list[Element], who: str) -> dict[str, float]:
    """The numbers of a transmission, from the first place that gives them as a tag or an attribute."""
    gearing: dict[str, float] = {}
    for key, spellings in GEARING.items():
        for place in places:
            for spelling in spellings:
                tag = place.only(spelling)
                if tag is not None and tag.content.strip():
                    gearing.setdefault(key, tag.number(who))
                elif place.attributes.get(spelling, "").strip():
                    gearing.setdefault(key, place.float(spelling, who))
    return gearing
