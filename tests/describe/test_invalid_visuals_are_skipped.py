"""A robot with arbitrary content in place of its visuals is read, and equals the robot without visuals."""

from __future__ import annotations

import json
import warnings
from xml.sax.saxutils import escape, quoteattr

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import appell as ap
from appell.errors import ModelWarning

many = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

WORDS = st.sampled_from(
    ["0", "1", "-1", "0.5", "1e308", "1e400", "nan", "-inf", "", "x", "0x1", "1 2 3", "1 2", "1 2 3 4"]
)
SHAPES = st.sampled_from(["box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh", "plane", "cone", "a"])
KEYS = st.sampled_from(["size", "radius", "length", "scale", "filename", "uri", "radii", "xyz", "rpy", "rgba", "name"])
TAGS = st.sampled_from(
    [
        "geometry",
        "origin",
        "pose",
        "material",
        "color",
        "diffuse",
        "transparency",
        "mesh",
        "box",
        "sphere",
        "radius",
        "size",
    ]
)


@st.composite
def visual(draw, depth: int = 3) -> str:
    """Nested tags that resemble those of a shape."""
    tag = draw(TAGS | SHAPES) if depth < 3 else "visual"
    attributes = draw(st.dictionaries(KEYS, WORDS | st.text("ab/:.\u00e9", max_size=5), max_size=3))
    given = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    inside = "".join(draw(st.lists(visual(depth - 1), max_size=3))) if depth else escape(draw(WORDS))
    return f"<{tag}{given}>{inside}</{tag}>"


URDF = """<robot name="r"><link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
</joint><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link></robot>"""
SDF = """<sdf version="1.9"><model name="r"><link name="base"><inertial><mass>1</mass></inertial></link>
<link name="arm"><inertial><mass>1</mass></inertial>{}</link>
<joint name="j" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""
TOML = """name = "r"
[[link]]
name = "arm"
joint = "revolute"
mass = 1
inertia = [1, 1, 1]
{}"""


def assert_skipped(form: str, visuals: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ModelWarning)
        assert ap.load(form.format(visuals)) == ap.load(form.format(""))


@many
@given(st.lists(visual(), min_size=1, max_size=3).map("".join))
def test_in_urdf(visuals):
    assert_skipped(URDF, visuals)


@many
@given(st.lists(visual(), min_size=1, max_size=3).map("".join))
def test_in_sdf(visuals):
    assert_skipped(SDF, visuals)


VALUES = st.recursive(
    st.integers(-3, 3)
    | st.floats(-2, 2)
    | st.sampled_from(["box", "sphere", "mesh", "arm", "pi/2", "x", ""])
    | st.booleans(),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=5,
)
NAMES = st.sampled_from(["shape", "size", "file", "color", "xyz", "rpy", "rotation", "name", "on", "odd"])


@many
@given(
    st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=3),
    st.sampled_from(["link.visual", "visual"]),
)
def test_in_toml(tables, header):
    visuals = ""
    for table in tables:
        visuals += f"[[{header}]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    assert_skipped(TOML, visuals)


@many
@given(VALUES)
def test_in_toml_with_a_value_instead_of_a_table(value):
    assert_skipped(TOML, f"visual = {json.dumps(value)}\n")
