"""`appell export`: files in other languages, no silent overwriting, and errors that name the wrong argument."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["export", *arguments])


def test_a_module_is_written_and_computes_the_same(tmp_path):
    target = tmp_path / "arm.py"
    done = run("planar-2r", "forward_dynamics", "--to", "numpy", "-o", str(target))
    assert done.exit_code == 0, done.output
    assert f"wrote {target}"[:30] in done.output.replace("\n", "")[:400]
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5, 2))
    exported = runpy.run_path(str(target))["forward_dynamics"](q, v, tau)
    np.testing.assert_allclose(exported, ap.Dynamics(ap.load("planar-2r")).forward_dynamics(q, v, tau), rtol=1e-13)


def test_derivatives_and_functions_of_frames_can_be_exported(tmp_path):
    jacobian = run("planar-2r", "gravity", "--by", "q", "--to", "json", "-o", "-")
    assert jacobian.exit_code == 0
    assert '"name": "dg_dq", "shape": [2, 2]' in jacobian.output
    pose = run("planar-2r", "pose", "--frame", "tool", "--to", "latex", "-o", "-")
    assert pose.exit_code == 0
    assert "\\cos" in pose.output


def test_webassembly_is_that_of_python(tmp_path):
    target = tmp_path / "arm.wasm"
    assert run("planar-2r", "mass_matrix", "--to", "wasm", "-o", str(target)).exit_code == 0
    files = ap.Dynamics(ap.load("planar-2r")).mass_matrix.to_wasm("arm")
    assert target.read_bytes() == files.binary
    assert (tmp_path / "arm.mjs").read_text(encoding="utf-8") == files.javascript
    assert (tmp_path / "arm.d.mts").read_text(encoding="utf-8") == files.declarations
    printed = run("planar-2r", "mass_matrix", "--to", "wasm", "-o", "-")
    assert printed.exit_code == 1
    assert "a WebAssembly module cannot be printed" in printed.output


def test_a_casadi_file_can_be_loaded(tmp_path):
    import casadi

    target = tmp_path / "arm.casadi"
    assert run("planar-2r", "mass_matrix", "--to", "casadi", "-o", str(target)).exit_code == 0
    exported = np.array(casadi.Function.load(str(target))([0.3, -0.4]))
    np.testing.assert_allclose(exported, ap.Dynamics(ap.load("planar-2r")).mass_matrix([0.3, -0.4]), rtol=1e-13)


def test_an_existing_file_is_replaced_only_with_force(tmp_path):
    target = tmp_path / "arm.tex"
    target.write_text("mine")
    refused = run("pendulum", "gravity", "--to", "latex", "-o", str(target))
    assert refused.exit_code == 1
    assert "already exists" in refused.output
    assert target.read_text() == "mine"
    assert run("pendulum", "gravity", "--to", "latex", "-o", str(target), "--force").exit_code == 0
    assert "align" in target.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pendulum", "gravty"), "Did you mean 'gravity'?"),
        (("pendulum", "gravity", "--to", "rust"), "has no language 'rust'. It has: c, casadi, jax"),
        (("pendulum", "pose"), "pose needs a frame"),
        (("pendulum", "gravity", "--frame", "tool"), "not a function of a frame"),
        (("pendulum", "gravity", "--by", "x"), "has no argument 'x'"),
        (("pendulum", "gravity", "--to", "jax", "--float"), "--float is only for --to c"),
        (("pendulum", "gravity", "--to", "casadi", "-o", "-"), "cannot be printed"),
        (("pendulum", "gravity", "--to", "json", "-o", "arm.tex"), "a name that ends in .json"),
        (("pendulum", "system"), "has no function 'system'"),
    ],
)
def test_what_cannot_be_exported_is_named(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 1
    assert message in " ".join(done.output.split())
