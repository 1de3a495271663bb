"""Readers return a robot or raise an AppellError, whatever text they are given."""

from __future__ import annotations

import warnings
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appell.describe.actuator_table import KEYS as ACTUATOR_KEYS
from appell.describe.load import load_text
from appell.describe.toml.tables import KEYS as TABLE_KEYS
from appell.describe.urdf.parts import INERTIA
from appell.describe.write import to_toml, to_urdf
from appell.errors import DescriptionError, ModelError, ModelWarning
from appell.model.robot import Robot
from appell_lab.references.random_mjcf import random_mjcf
from robots import random_tree
from sdf_texts import ARM

ROBOT = random_tree(5, 3, actuators=True)
with pytest.warns(ModelWarning, match="URDF cannot express these values"):
    URDF = to_urdf(ROBOT)
TEXTS = {"urdf": URDF, "toml": to_toml(ROBOT), "mjcf": random_mjcf(3), "sdf": ARM}
many = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

NUMBERS = st.sampled_from(
    ["0", "1", "-1", "0.5", "1e308", "1e400", "nan", "-inf", "", "x", "1_0", "0x1", "pi", "1e-320"]
)
VECTORS = st.lists(NUMBERS, max_size=4).map(" ".join)
NAMES = st.sampled_from(["a", "b", "c", "j", "", " ", "é", "b_planar", "root_joint"])
TYPES = st.sampled_from(["revolute", "continuous", "prismatic", "fixed", "floating", "planar", "ball", "helical", ""])


def check_reader(text: str, format: str, base: str = "fixed") -> None:
    for physical in (True, False):
        with warnings.catch_warnings(), suppress(DescriptionError, ModelError):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ModelWarning)
            assert isinstance(load_text(text, format, physical=physical, base=base), Robot)


@st.composite
def damaged(draw, text: str) -> str:
    """A valid text with some parts removed, doubled or overwritten."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 60)))
        text = (
            text[:start] + draw(st.sampled_from(["", text[start:end] * 2]) | NUMBERS | st.text(max_size=4)) + text[end:]
        )
    return text


@st.composite
def nearly_urdf(draw) -> str:
    """A chain of three links with some invalid values, names and tags."""
    one_in = draw(st.sampled_from([5, 20, 100]))

    def is_odd() -> bool:
        return draw(st.integers(1, one_in)) == one_in

    def either(good: str, odd: st.SearchStrategy[str]) -> str:
        return draw(odd) if is_odd() else good

    def tag(kind: str, inside: str = "", /, **attributes: str) -> str:
        given = "".join(f' {key}="{value}"' for key, value in attributes.items() if not is_odd())
        return f"<{kind}{given}>{inside}</{kind}>" * (2 if is_odd() else 1)

    def origin() -> str:
        return tag("origin", xyz=either("1 2 3", VECTORS), rpy=either("0.1 0 0", VECTORS))

    def link(name: str) -> str:
        moments = {key: either("1" if key[1] == key[2] else "0", NUMBERS) for key in INERTIA}
        mass = tag("mass", value=either("1", NUMBERS))
        return tag("link", tag("inertial", origin() + mass + tag("inertia", **moments)), name=either(name, NAMES))

    def joint(name: str, parent: str, child: str) -> str:
        inside = origin() + tag("parent", link=either(parent, NAMES)) + tag("child", link=either(child, NAMES))
        inside += tag("axis", xyz=either("0 1 1", VECTORS)) + tag("dynamics", damping=either("1", NUMBERS))
        inside += tag("limit", lower=either("-1", NUMBERS), effort=either("1", NUMBERS))
        if is_odd():
            inside += tag("mimic", joint=either("j", NAMES), multiplier=either("2", NUMBERS))
        return tag("joint", inside, name=either(name, NAMES), type=draw(TYPES))

    def transmission(name: str) -> str:
        reduction = tag("mechanicalReduction", either("50", NUMBERS))
        inside = tag("type", either("x/SimpleTransmission", NAMES)) + tag("joint", name=either(name, NAMES))
        return tag("transmission", inside + tag("actuator", reduction + tag("motorInertia", either("1", NUMBERS))))

    joints = joint("j", "a", "b") + joint("k", "b", "c")
    return tag("robot", link("a") + link("b") + link("c") + joints + transmission("j"), name="r")


@pytest.mark.parametrize("format", TEXTS)
@given(data=st.data())
@many
def test_damaged_files(format, data):
    check_reader(data.draw(damaged(TEXTS[format])), format)


@pytest.mark.parametrize("format", TEXTS)
@given(data=st.data())
@settings(many, max_examples=60)
def test_truncated_files(format, data):
    text = TEXTS[format]
    check_reader(text[: data.draw(st.integers(0, len(text)))], format)


@pytest.mark.parametrize("format", TEXTS)
@given(text=st.text())
@many
def test_texts_that_are_not_descriptions(format, text):
    check_reader(text, format)


@given(text=nearly_urdf(), base=st.sampled_from(["fixed", "floating"]))
@settings(many, max_examples=200)
def test_tags_of_urdf_in_any_arrangement(text, base):
    check_reader(text, "urdf", base)


VALUES = st.recursive(
    st.integers(-2, 2) | st.floats() | st.text(max_size=3) | st.booleans() | st.sampled_from(["pi/2", "90 deg", "a"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=6,
)


KEYS = st.sampled_from([*TABLE_KEYS["link"], "huh"])


@given(key=KEYS, value=VALUES)
@many
def test_keys_of_toml_with_any_value(key, value):
    link = {"name": '"l"', "joint": '"revolute"', "mass": "0"}
    link[key] = repr(value).replace("True", "true").replace("False", "false")
    check_reader("\n".join(['name = "r"', "[[link]]", *(f"{k} = {v}" for k, v in link.items())]), "toml")


@given(key=st.sampled_from([*ACTUATOR_KEYS, "huh"]), value=VALUES)
@many
def test_keys_of_an_actuator_with_any_value(key, value):
    written = repr(value).replace("True", "true").replace("False", "false")
    link = 'name = "l"\njoint = "revolute"\nmass = 0\n'
    check_reader(f'name = "r"\n[[link]]\n{link}actuator = {{ {key} = {written} }}', "toml")
