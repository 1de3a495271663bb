"""Mechanisms in TOML files: round trips, and errors for what a file cannot express."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import cos, sin
from appell.algebra.vector import Vec3
from appell.describe.load import load, load_text, load_tree, tree_names, zoo_names
from appell.describe.write import to_toml, to_urdf
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, DescriptionError, ModelError, ModelWarning
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.mechanism import LegJoint, Mechanism, MovingBody, Recipe
from robots import random_body, random_pose

BODY = random_body(np.random.default_rng(0))
OTHER = random_body(np.random.default_rng(1))
MOTOR = Actuator(50.0, 1e-4, Friction(0.2, 0.1, 0.3), torque=5.0)


def slider(stroke: float = 0.5, offsets=(0.0, 0.1), platform: Body | None = None, physical: bool = True) -> Mechanism:
    """A rod that rotates about z and slides along its axis: two coordinates, two actuators."""
    if not stroke > 0.0:
        raise ArgumentError(f"a slider has stroke {stroke:g} m.", expected="a positive number")
    first, second = offsets
    options = {"stroke": stroke, "offsets": offsets, "platform": platform}
    defaults = {"stroke": 0.5, "offsets": (0.0, 0.1), "platform": None}

    def rotation(q):
        return Mat3((Vec3(cos(q[0]), -sin(q[0]), 0.0), Vec3(sin(q[0]), cos(q[0]), 0.0), Vec3(0.0, 0.0, 1.0)))

    def tip(q):
        return Pose(rotation(q), rotation(q) @ Vec3(q[1] + first, second, 0.0))

    return Mechanism(
        "slider",
        ("angle", "length"),
        (MovingBody("rod", lambda q: Pose(rotation(q)), BODY), MovingBody("tip", tip, platform or BODY)),
        (LegJoint("hinge", lambda q: q[0]), LegJoint("slide", lambda q: q[1], "m", Actuator(gear=2.0))),
        home=(0.1, stroke),
        units=("rad", "m"),
        frames=(Frame("eye", "tip"),),
        physical=physical,
        recipe=Recipe("slider", {key: x for key, x in options.items() if x != defaults[key]}),
    )


@pytest.fixture(autouse=True)
def _a_zoo_with_a_slider(monkeypatch):
    monkeypatch.setitem(MECHANISMS, "slider", slider)


def read(text: str, **options):
    return load_text(text, "toml", **options)


def contents(mechanism: Mechanism) -> list:
    """Everything about a mechanism that a file can express."""
    facts = [mechanism.name, mechanism.gravity, mechanism.home, mechanism.free, mechanism.frames, mechanism.recipe]
    return [*facts, mechanism.bodies, mechanism.actuators, mechanism.description, mechanism.reference]


def test_dimensions_of_a_mechanism_of_the_zoo_are_arguments_of_load():
    wide, usual = load("agile-wrist", radius=0.2), load("agile-wrist")
    mass = {wrist: sum(body.mass for body in wrist.bodies.values() if body) for wrist in (wide, usual)}
    assert mass[wide] > mass[usual]
    with pytest.raises(DescriptionError, match=r"has no dimension 'raduis'\. Did you mean 'radius'\?"):
        load("agile-wrist", raduis=0.2)
    with pytest.raises(DescriptionError, match="radius of 'agile-wrist' is nan"):
        load("agile-wrist", radius=float("nan"))
    with pytest.raises(DescriptionError, match="radius= does not apply to robot 'puma'"):
        load("puma", radius=0.2)


def test_a_mechanism_of_the_zoo_is_loaded_by_name():
    assert contents(load("slider")) == contents(slider())
    assert load("slider").source == "the zoo's slider"
    assert load("slider", name="mine").name == "mine"
    assert "slider" in zoo_names()
    assert "slider" not in tree_names()
    assert list(zoo_names()) == sorted(zoo_names())


def test_a_file_may_contain_only_the_name_of_a_mechanism():
    assert contents(read('mechanism = "slider"')) == contents(slider())


def test_a_file_contains_changes():
    mechanism = read(
        'mechanism = "slider"\nname = "mine"\ngravity = [0, -9.81, 0]\nhome = ["pi/2", 0.3]\nfree = ["tip"]\n'
        'description = "a slider"\nreference = "made up"\n'
        '[options]\nstroke = 0.25\noffsets = [0.5, "pi/2"]\n'
        '[[body]]\nname = "tip"\nmass = 2\ncom = [0, 0, 1]\ninertia = [1, 1, 1]\n'
        '[[actuator]]\nname = "slide"\ngear = 50\nrotor_inertia = 1e-4\nviscous = 0.2\ncoulomb = 0.1\nstatic = 0.3\n'
        'torque = 5\n[[frame]]\nname = "pin"\non = "rod"\nxyz = [1, 0, 0]\n',
        source="mine.toml",
    )
    assert (mechanism.name, mechanism.home, mechanism.free) == ("mine", (np.pi / 2, 0.3), {"tip"})
    assert (mechanism.description, mechanism.reference, mechanism.source) == ("a slider", "made up", "mine.toml")
    assert mechanism.gravity == Vec3(0.0, -9.81, 0.0)
    assert mechanism.recipe == Recipe("slider", {"stroke": 0.25, "offsets": [0.5, np.pi / 2]})
    assert mechanism.bodies == {"rod": BODY, "tip": Body(2.0, Vec3(0.0, 0.0, 1.0), Mat3.symmetric(1, 0, 0, 1, 0, 1))}
    assert mechanism.actuators == (Actuator(), MOTOR)
    assert mechanism.frames == (Frame("eye", "tip"), Frame("pin", "rod", Pose(translation=Vec3(1.0, 0.0, 0.0))))


def changed() -> Mechanism:
    rng = np.random.default_rng(5)
    made = replace(slider(stroke=1 / 3, offsets=[0.1, 2]), name='mi"ne', description="two\nlines", home=(0.2, 1 / 7))
    made = made.with_bodies({"tip": OTHER}).with_actuators({"hinge": MOTOR, "slide": Actuator()})
    return made.with_gravity((0.1, -9.8, 0)).with_frames([Frame("pin", "rod", random_pose(rng))]).with_free("rod")


@pytest.mark.parametrize("make", [slider, changed, lambda: slider(offsets=np.array([0.5, 0.25]).tolist())])
def test_a_mechanism_survives_a_round_trip(make, tmp_path):
    mechanism = make()
    path = tmp_path / "m.toml"
    assert contents(read(to_toml(mechanism, path))) == contents(mechanism)
    assert path.read_text(encoding="utf-8") == to_toml(load(path))


def test_a_mechanism_has_the_same_dynamics_after_a_round_trip():
    mechanism = replace(changed(), free=frozenset())
    back = read(to_toml(mechanism))
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    for options in ({}, {"rotors": True, "friction": True}):
        before, after = (Dynamics(each, **options).inverse_dynamics(q, v, a) for each in (mechanism, back))
        np.testing.assert_array_equal(before, after)


START = 'mechanism = "slider"\n'
BAD = {
    "an unknown mechanism": ('mechanism = "slidr"', "The zoo has no mechanism 'slidr'. Did you mean 'slider'"),
    "a number for a mechanism": ("mechanism = 3", "mechanism of the document is 3"),
    "an unknown key": (START + "links = 1", "has no key 'links'"),
    "an unknown option": (START + "[options]\nstrike = 1", "'slider' has no option 'strike'. Did you mean 'stroke'"),
    "an option that is a bool": (START + "[options]\nstroke = true", r"stroke of \[options\] is True"),
    "an option that is nan": (START + "[options]\noffsets = [nan, 1]", r"offsets of \[options\] is nan"),
    "an option that is a string": (START + '[options]\nstroke = "long"', "stroke of .* is 'long'"),
    "an option that is a table": (START + "[options.platform]\nmass = 1", r"platform of \[options\] is {'mass': 1}"),
    "an option the maker rejects": (START + "[options]\nstroke = -1", "a slider has stroke -1 m"),
    "an option of another shape": (START + "[options]\noffsets = 3", "mechanism 'slider' cannot be created with"),
    "an option of another kind": (START + "[options]\nplatform = 3", "mechanism 'slider' cannot be created with"),
    "options that are not a table": (START + "options = 3", "options is 3"),
    "an unknown body": (START + '[[body]]\nname = "tpi"\nmass = 1\ninertia = [1, 1, 1]', "no body 'tpi'.*'tip'"),
    "a body without a name": (START + "[[body]]\nmass = 1", r"\[\[body\]\] number 1 has no name"),
    "a body without inertia": (START + '[[body]]\nname = "tip"\nmass = 1', "body 'tip' has a mass but no inertia"),
    "a body without mass": (START + '[[body]]\nname = "tip"', "body 'tip' .* cannot be without mass"),
    "a body that cannot exist": (
        START + '[[body]]\nname = "tip"\nmass = -1\ninertia = [1, 1, 1]',
        "body 'tip' of mechanism 'slider' has mass -1",
    ),
    "an unknown actuator": (START + '[[actuator]]\nname = "hingge"', "no actuator 'hingge'. Did you mean 'hinge'"),
    "an unknown key of an actuator": (START + '[[actuator]]\nname = "hinge"\ngeer = 1', "no key 'geer'.*'gear'"),
    "an actuator that cannot exist": (
        START + '[[actuator]]\nname = "hinge"\ngear = 0',
        "actuator 'hinge' of mechanism 'slider' has gear ratio 0",
    ),
    "a home of three": (START + "home = [1, 2, 3]", "the home of mechanism 'slider' has 3 numbers"),
    "a frame on nothing": (START + '[[frame]]\nname = "f"\non = "rood"', "no body 'rood'. Did you mean 'rod'"),
    "free with an unknown body": (START + 'free = ["rood"]', "no body 'rood'"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_an_invalid_file_is_an_error_with_names_and_path(text, message):
    with pytest.raises((DescriptionError, ModelError, ArgumentError), match=message) as raised:
        read(text, source="here/m.toml")
    assert str(raised.value).count("here/m.toml") == 1


@pytest.mark.parametrize("option", [{"base": "floating"}, {"mimic": False}])
def test_options_for_trees_are_named_errors(option):
    for load_it in (lambda: load("slider", **option), lambda: read(START, **option)):
        with pytest.raises(DescriptionError, match=f"{next(iter(option))}= does not apply to 'slider'"):
            load_it()


def test_an_impossible_body_is_accepted_with_physical_false():
    text = START + '[[body]]\nname = "rod"\nmass = 1\ninertia = [1, 1, 3]\n'
    with pytest.raises(ModelError, match="body 'rod' of mechanism 'slider' has principal moments"):
        read(text)
    with pytest.warns(ModelWarning, match="body 'rod' has principal moments of inertia 1, 1, 3"):
        assert read(text, physical=False).bodies["rod"].moments == (1.0, 1.0, 3.0)
    assert not load("slider", physical=False).physical


IMPOSSIBLE = {"platform_com": [0.0, 0.0, 0.06]}  # 38.29e-4 - 1.351 · 0.06² is negative


def test_options_that_make_a_body_impossible_are_accepted_with_physical_false_and_survive_pickling():
    text = 'mechanism = "agile-wrist"\n[options]\nplatform_com = [0, 0, 0.06]\n'
    with pytest.raises(ModelError, match=r"(?s)body 'platform' .* the smallest is negative.*physical=False"):
        read(text)
    with pytest.warns(ModelWarning, match="the smallest is negative"):
        wrist = read(text, physical=False)
    with pytest.warns(ModelWarning, match="the smallest is negative"):
        made = MECHANISMS["agile-wrist"](**IMPOSSIBLE, physical=False)
    with pytest.warns(ModelWarning, match="the smallest is negative"):
        again = pickle.loads(pickle.dumps(made))
    with pytest.warns(ModelWarning, match="the smallest is negative"):
        written = to_toml(made)
    assert not wrist.physical
    assert wrist.bodies == made.bodies == again.bodies
    assert not again.physical
    assert "physical" not in written


def test_a_file_cannot_set_physical():
    with pytest.raises(DescriptionError, match="mechanism 'slider' has no option 'physical'"):
        read('mechanism = "slider"\n[options]\nphysical = 0\n')


def test_a_mechanism_is_not_a_tree():
    with pytest.raises(DescriptionError, match=r"mechanism 'slider' is not a tree of links.*\n.*puma"):
        load_tree("slider")
    with pytest.raises(ModelError, match="mechanism 'slider' cannot be written as URDF"):
        to_urdf(slider())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": None}, "its poses are Python functions, and it is not in the zoo"),
        ({"recipe": Recipe("lost", {})}, "its poses are Python functions, and it is not in the zoo"),
        ({"condition_limit": 5.0}, "its condition limit differ from those of"),
        ({"frames": ()}, "its frames differ from those of"),
        ({"ranges": ((0.0, 1.0), (0.0, 1.0))}, "its ranges differ from those of"),
    ],
)
def test_what_a_file_cannot_express_is_an_error_and_nothing_is_written(change, message, tmp_path):
    with pytest.raises(ModelError, match=f"mechanism 'slider' cannot be written: {message}"):
        to_toml(replace(slider(), **change), tmp_path / "m.toml")
    assert not list(tmp_path.iterdir())


def test_an_option_that_is_not_a_number_cannot_be_written():
    with pytest.raises(ModelError, match=r"its option 'platform' is Body.*\n.*\n.*with_bodies"):
        to_toml(slider(platform=OTHER))
