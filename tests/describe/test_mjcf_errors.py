"""MJCF that is unsupported, invalid or hostile: errors with names and lines."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import mujoco
import pytest

import appell as ap
from appell.describe.load import load, load_text
from appell.describe.mjcf import compiler
from appell.errors import DescriptionError, ModelError
from mjcf_texts import BODY, link, mjcf

TENDON = '<tendon>\n<fixed name="t"{}><joint joint="j" coef="1"/></fixed></tendon>'

UNSUPPORTED = {
    "a fluid": (mjcf(link(), option='viscosity="1"'), "viscosity 1", 3, "fluid"),
    "a tendon that pulls": (
        mjcf(link(), TENDON.format(' stiffness="3"')),
        "tendon 't' exerts a force (stiffness)",
        8,
        "tendon",
    ),
    "armature of a tendon": (
        mjcf(link(), TENDON.format(' armature="3"')),
        "tendon 't' exerts a force (armature)",
        8,
        "tendon",
    ),
    "an actuator at a tendon": (
        mjcf(link(), TENDON.format("") + '\n<actuator>\n<motor tendon="t"/></actuator>'),
        "actuator 'actuator0' acts on a tendon",
        10,
        "actuator",
    ),
    "an actuator at a site": (
        mjcf(link(more='<site name="s"/>'), '<actuator>\n<general name="thrust" site="s"/></actuator>'),
        "actuator 'thrust' acts on a site",
        8,
        "actuator",
    ),
    "an actuator at a ball": (
        mjcf(link('<joint name="j" type="ball"/>'), '<actuator>\n<motor joint="j" gear="1 0 0"/></actuator>'),
        "actuator 'actuator0' acts on joint 'j', which has several axes",
        8,
        "actuator",
    ),
    "a polynomial": (
        mjcf(
            link() + link('<joint name="k"/>', name="b"),
            '<equality>\n<joint joint1="j" joint2="k" polycoef="0 1 2 0 0"/></equality>',
        ),
        "joint 'j' by a nonlinear polynomial",
        8,
        "equality",
    ),
    "a constrained spatial tendon": (
        mjcf(
            link(more='<site name="s"/>') + '<site name="o" pos="1 0 0"/>',
            '<tendon><spatial name="t"><site site="s"/><site site="o"/></spatial></tendon>\n'
            '<equality><tendon name="e" tendon1="t"/></equality>',
        ),
        "constrains tendon 't', which is a spatial tendon",
        8,
        "equality",
    ),
    "a mocap body with a constraint": (
        mjcf(link() + '\n<body name="hand" mocap="true"/>', '<equality><weld body1="hand" body2="arm"/></equality>'),
        "body 'hand' is a mocap body",
        6,
        "mocap",
    ),
    "gravity compensation of one body": (
        mjcf(link() + f'\n<body name="b" gravcomp="1"><joint/>{BODY}</body>'),
        "body 'b' has another gravity compensation than other moving bodies",
        6,
        "gravcomp",
    ),
    "a spring on a ball": (
        mjcf(link('\n<joint name="k" type="ball" stiffness="1"/>')),
        "joint 'k' has a spring about several axes",
        6,
        "spring",
    ),
    "armature of a free joint": (
        mjcf(link('\n<joint type="free" armature="1"/>')),
        "is a free joint with armature 1",
        6,
        "armature",
    ),
    "dry friction of a free joint": (
        mjcf(link('\n<joint type="free" frictionloss="1"/>')),
        "is a free joint with frictionloss 1",
        6,
        "friction",
    ),
    "a plugin": (
        mjcf(
            link(),
            '<extension><plugin plugin="mujoco.pid"><instance name="p"/></plugin></extension>\n<actuator>\n'
            '<plugin name="a" plugin="mujoco.pid" joint="j" instance="p"/></actuator>',
        ),
        "actuator 'a' is a plugin",
        9,
        "plugin",
    ),
    "a soft body": (
        mjcf(link() + '\n<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2"/>'),
        "flex 'cloth' is a deformable body",
        6,
        "flex",
    ),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_parts_are_errors_with_their_lines(name):
    text, problem, line, kind = UNSUPPORTED[name]
    with pytest.raises(DescriptionError) as raised:
        load_text(text, "mjcf", source="arm.xml")
    errors = raised.value.parts or (raised.value,)
    assert any(problem in error.problem and error.source == f"arm.xml, line {line}" for error in errors), str(
        raised.value
    )
    assert all(f"without='{kind}'" in error.hint for error in errors)


@pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
@pytest.mark.parametrize("name", [name for name in UNSUPPORTED if name not in ("a soft body",)])
def test_unsupported_parts_are_left_out_on_request(name):
    text, *_, kind = UNSUPPORTED[name]
    assert load_text(text, "mjcf", without=[kind, "actuator"]).nq >= 1


def test_all_unsupported_parts_are_reported_at_once():
    text = mjcf(
        link('\n<joint type="ball" stiffness="1"/>'),
        TENDON.replace("<joint ", "<joint ").format(""),
        option='density="2"',
    )
    text = text.replace('<joint joint="j" coef="1"/>', '<joint joint="k" coef="1"/>')
    text = text.replace("</worldbody>", link('<joint name="k"/>', name="b") + "</worldbody>").replace(
        'name="t"', 'name="t" damping="1"'
    )
    with pytest.raises(
        DescriptionError, match=r"(?s)has 3 errors.*line 3 .*density 2.*line 6 .*spring.*line 9 .*damping"
    ):
        load_text(text, "mjcf", source="arm.xml")


HOSTILE = {
    "a document type": ('<!DOCTYPE mujoco [<!ENTITY x "y">]><mujoco/>', "declares a document type or an entity"),
    "an entity bomb": ('<!DOCTYPE m [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><mujoco/>', "declares a document type"),
    "no XML": ("<mujoco><worldbody></mujoco>", "the text is not valid XML: mismatched tag"),
    "another tag": ("<mujoko/>", "the outermost tag is <mujoko>"),
    "an include from memory": (
        '<mujoco><include file="/etc/passwd"/></mujoco>',
        "a text in memory cannot refer to files",
    ),
    "a mesh from memory": (
        '<mujoco><asset><mesh file="a.stl"/></asset></mujoco>',
        "a text in memory cannot refer to files",
    ),
    "millions of copies": (
        mjcf(f'<replicate count="10000"><replicate count="1000">{link()}</replicate></replicate>'),
        "<replicate> requests 1e[+]07 copies",
    ),
    "a soft body of millions": (
        mjcf('<flexcomp name="f" count="1000 1000 100"/>'),
        "<flexcomp> requests 1e[+]08 copies",
    ),
    "a picture of a terabyte": (
        mjcf(link(), '<asset><texture type="2d" builtin="flat" width="1000000" height="1000000"/></asset>'),
        "<texture> has 1e[+]06 by 1e[+]06 cells",
    ),
    "deeply nested tags": ("<mujoco>" + "<body>" * 200 + "</body>" * 200 + "</mujoco>", "nested more than 100 deep"),
    "nothing that moves": (mjcf('<geom size="1"/>'), "no moving joint"),
    "an unknown attribute": (
        mjcf('\n<body nmae="x"/>'),
        "MuJoCo rejects the model: Schema violation: unrecognized attribute",
    ),
    "a body without mass": (
        mjcf('\n<body name="x"><joint/></body>'),
        "MuJoCo rejects the model: mass and inertia of moving bodies",
    ),
    "invalid numbers": (mjcf('\n<body pos="a b c"/>'), "MuJoCo rejects the model: .*pos"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_or_invalid_texts_are_errors(name):
    text, problem = HOSTILE[name]
    with pytest.raises(ModelError if name == "nothing that moves" else DescriptionError, match=problem):
        load_text(text, "mjcf")


def test_errors_of_mujoco_keep_their_lines():
    with pytest.raises(DescriptionError, match=r"read from arm\.xml, line 6"):
        load_text(HOSTILE["a body without mass"][0], "mjcf", source="arm.xml")


def write(folder, text: str):
    path = folder / "arm.xml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "C:\\\\robot.xml"])
def test_a_path_must_be_relative(name, tmp_path):
    with pytest.raises(DescriptionError, match=r"(?s)which is not relative.*line 1"):
        load(write(tmp_path, f'<mujoco><include file="{name}"/></mujoco>'))
    with pytest.raises(DescriptionError, match="not relative"):
        load(write(tmp_path, f'<mujoco><compiler meshdir="{name}"/><asset><mesh file="a.stl"/></asset></mujoco>'))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes require Unix")
def test_a_pipe_is_not_accepted_as_a_mesh(tmp_path):
    os.mkfifo(tmp_path / "a.stl")
    with pytest.raises(DescriptionError, match="which is not a regular file"):
        load(write(tmp_path, '<mujoco><asset><mesh file="a.stl"/></asset></mujoco>'))


@pytest.mark.parametrize("folder", ["/anywhere", "C:\\\\meshes"])
def test_a_mesh_folder_set_by_an_included_file_must_be_relative(folder, tmp_path):
    (tmp_path / "part.xml").write_text(f'<mujoco><compiler meshdir="{folder}"/></mujoco>')
    for order in ("{include}{asset}", "{asset}{include}"):
        text = order.format(include='<include file="part.xml"/>', asset='<asset><mesh file="a.stl"/></asset>')
        with pytest.raises(DescriptionError, match=r"(?s)'a.stl' in the folder '.*', which is not relative.*arm"):
            load(write(tmp_path, f"<mujoco>{text}</mujoco>"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes require Unix")
@pytest.mark.parametrize("shadow", [False, True])
def test_a_pipe_in_the_mesh_folder_of_an_included_file_is_not_accepted(shadow, tmp_path):
    """A regular file of the same name beside the document does not hide the pipe."""
    (tmp_path / "meshes").mkdir()
    os.mkfifo(tmp_path / "meshes" / "a.stl")
    if shadow:
        (tmp_path / "a.stl").write_bytes(b"")
    (tmp_path / "part.xml").write_text('<mujoco><compiler meshdir="meshes"/></mujoco>')
    with pytest.raises(DescriptionError, match="which is not a regular file"):
        load(write(tmp_path, '<mujoco><include file="part.xml"/><asset><mesh file="a.stl"/></asset></mujoco>'))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes require Unix")
def test_a_pipe_is_not_accepted_under_a_name_without_its_folders(tmp_path):
    os.mkfifo(tmp_path / "a.stl")
    with pytest.raises(DescriptionError, match="which is not a regular file"):
        load(write(tmp_path, '<mujoco><compiler strippath="true"/><asset><mesh file="far/a.stl"/></asset></mujoco>'))


def test_a_mesh_folder_that_is_not_used_may_be_absolute(tmp_path):
    (tmp_path / "part.xml").write_text('<mujoco><compiler meshdir="/anywhere"/></mujoco>')
    assert load(write(tmp_path, mjcf(link(), '<include file="part.xml"/>'))).nv == 1


def test_a_relative_mesh_folder_set_by_an_included_file_is_used(tmp_path):
    (tmp_path / "parts" / "meshes").mkdir(parents=True)
    vertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    (tmp_path / "parts" / "meshes" / "a.obj").write_text(vertices)
    (tmp_path / "part.xml").write_text('<mujoco><compiler meshdir="parts/meshes"/></mujoco>')
    asset = '<asset><mesh name="a" file="a.obj"/></asset><include file="part.xml"/>'
    assert load(write(tmp_path, mjcf(link(more='<geom type="mesh" mesh="a"/>'), asset))).nv == 1


def test_threads_leave_the_warning_handler_of_mujoco_as_it_was(monkeypatch):
    """MuJoCo has one handler per process. Each thread receives the warnings of its own model."""

    def compile_slowly(engine, text, path, documents):
        time.sleep(0.01)
        engine.get_mju_user_warning()(text)
        time.sleep(0.01)

    monkeypatch.setattr(compiler, "_compile", compile_slowly)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(compiler.compile_model, f"model {k}", None, None) for k in range(12)]
    assert [job.result()[1] for job in jobs] == [[f"MuJoCo warns: model {k}"] for k in range(12)]
    assert mujoco.get_mju_user_warning() is None


def test_a_missing_file_is_reported_by_mujoco(tmp_path):
    with pytest.raises(DescriptionError, match="MuJoCo rejects the model: Error opening file"):
        load(write(tmp_path, mjcf(link(), '<asset><mesh file="a.stl"/></asset>')))


def test_entities_in_an_included_file_are_rejected(tmp_path):
    (tmp_path / "part.xml").write_text('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>')
    with pytest.raises(DescriptionError, match=r"(?s)declares a document type.*part.xml, line 1"):
        load(write(tmp_path, '<mujoco><include file="part.xml"/></mujoco>'))


def test_files_that_include_each_other_are_an_error(tmp_path):
    (tmp_path / "part.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    with pytest.raises(DescriptionError):
        load(write(tmp_path, '<mujoco><include file="part.xml"/></mujoco>'))


def test_loops_that_cannot_be_closed_are_named():
    text = mjcf(
        link(),
        '<equality>\n<connect name="pin" body1="arm" body2="world" anchor="1 0 0"/></equality>'
        '<keyframe><key qpos="0"/></keyframe>',
    )
    far = text.replace('anchor="1 0 0"', 'anchor="0 0 0"').replace('<joint name="j"/>', '<joint name="j" pos="1 0 0"/>')
    assert load_text(far, "mjcf").nv == 0
    locked = text.replace("<connect", '<joint joint1="j" polycoef=".3 0 0 0 0"/><connect')
    with pytest.raises(
        DescriptionError, match=r"(?s)loop 'pin' of robot 'm' cannot be closed.*line 8.*without='equality'"
    ):
        load_text(locked, "mjcf", source="arm.xml")


@pytest.mark.parametrize("options", [{"base": "floating"}, {"mimic": False}])
def test_options_that_do_not_apply_are_errors(options):
    with pytest.raises(DescriptionError, match="does not apply to MJCF"):
        load_text(mjcf(link()), "mjcf", **options)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(DescriptionError, match=r"(?s)mujoco, which is not installed.*pip install 'appell\[mjcf\]'"):
        load_text(mjcf(link()), "mjcf")


def test_objects_that_are_not_models_are_errors():
    with pytest.raises(DescriptionError, match="a dict is not a MuJoCo model"):
        ap.from_mujoco({})
    with pytest.raises(DescriptionError, match=r"(?s)a MjSpec is not a MuJoCo model.*spec.compile\(\)"):
        ap.from_mujoco(mujoco.MjSpec())
    with pytest.raises(DescriptionError, match=r"(?s)a MuJoCo model is not a path or text.*ap.from_mujoco\(model\)"):
        load(mujoco.MjModel.from_xml_string(mjcf(link())))
