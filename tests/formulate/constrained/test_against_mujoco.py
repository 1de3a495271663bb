"""Comparison of loops with MuJoCo: its terms exactly, its accelerations as far as soft constraints allow.

Its equality constraints are soft: with the stiffest settings that it accepts, accelerations agree within 0.1 %.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pytest

from appell.dynamics import Dynamics
from appell_lab.bench.peers.mujoco_text import mjcf
from constrained_cases import CASES, constrained, state

NAMES = ("fourbar-grashof", "fourbar-non-grashof", "slider-crank", "five-bar")
STIFF = {"solref": "0.002 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}


def loaded(name):
    """Model of the tree with its loops as equality constraints."""
    model = CASES[name]["model"]
    text = mjcf(constrained(name).tree).replace(' constraint="disable"', "")
    root = ElementTree.fromstring(text)
    bodies = {body.get("name"): body for body in root.iter("body")}
    equality = ElementTree.SubElement(root, "equality")
    for k, closure in enumerate(model["closures"]):
        for side in ("a", "b"):
            at = " ".join(map(repr, closure[side].get("xyz", [0, 0, 0])))
            ElementTree.SubElement(bodies[closure[side]["link"]], "site", {"name": f"{k}/{side}", "pos": at})
        ElementTree.SubElement(equality, "connect", {"site1": f"{k}/a", "site2": f"{k}/b", **STIFF})
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


@pytest.fixture(params=[(name, k) for name in NAMES for k in (0, 1)], ids=lambda param: f"{param[0]}-{param[1]}")
def case(request):
    name, k = request.param
    given, dyn, model = state(name, k), Dynamics(constrained(name)), loaded(name)
    data = mujoco.MjData(model)
    names = [model.joint(j).name for j in range(model.njnt)]
    assert tuple(names) == dyn.system.tree.velocity_names
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = given["q"], given["v"], given["tau"]
    mujoco.mj_forward(model, data)
    return dyn, given, model, data


def test_terms_agree_with_mujoco(case):
    dyn, given, model, data = case
    tree, M = Dynamics(dyn.system.tree), np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    np.testing.assert_allclose(tree.mass_matrix(given["q"]), M, rtol=0, atol=1e-13 * np.abs(M).max())
    h = tree.bias(given["q"], given["v"])
    np.testing.assert_allclose(h, data.qfrc_bias, rtol=0, atol=1e-13 * np.abs(h).max())
    J = np.reshape(data.efc_J, (data.nefc, model.nv))
    N = dyn.basis(given["q"])
    assert np.linalg.matrix_rank(J, 1e-9) == dyn.system.rank
    np.testing.assert_allclose(J @ N, 0.0, atol=1e-13 * np.abs(J).max() * np.abs(N).max())


def test_accelerations_agree_with_mujoco_up_to_the_softness_of_its_constraints(case):
    dyn, given, _, data = case
    a = dyn.constrained_acceleration(given["q"], given["v"], given["tau"])
    np.testing.assert_allclose(data.qacc, a, rtol=0, atol=1e-3 * np.abs(a).max())
