"""Exported WebAssembly in Node.js: the results of the machine code, with and without SIMD instructions."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.compile.function import Function
from appell.compile.llvm.lanes import Form
from appell.compile.native import kernels
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.machine import host
from appell.compile.wasm import link
from appell.compile.wasm.source import wasm_binary
from appell.errors import AppellError, CompileError
from appell.simulation import Rollout
from appell_lab.bench.subject import find
from export_cases import EVERY_OP, every_op, plain_arguments, relative
from javascript import NO_SIMD, run_node, run_wasm
from looped_functions import SHAPES, chain
from robots import example_urdfs, rope

COUNT = 7  # odd: the last register of two samples is not complete


def unfused(of: Function, monkeypatch, arguments, dtype=np.float64) -> tuple[np.ndarray, ...]:
    """Return the results of machine code for a processor without fused multiply-adds."""
    with monkeypatch.context() as context:
        context.setattr(kernels, "host", lambda: replace(host(), has_fma=False))
        loops = UfuncLoops(of.fused)
        loops.load(dtype)
        with np.errstate(invalid="ignore"):
            results = loops.ufunc()(*arguments)
    return results if isinstance(results, tuple) else (results,)


def robot_of(name: str):
    if name == "ur5":
        return ap.load(next(path for path in example_urdfs() if path.name == "ur5_robot.urdf"))
    return {"talos": lambda: find("talos").robot, "rope": lambda: rope(60)}.get(name, lambda: ap.load(name))()


@pytest.mark.parametrize(
    ("robot", "name", "by"),
    [
        ("panda", "forward_dynamics", ()),
        ("panda", "forward_dynamics", ("q", "v")),
        ("ur5", "inverse_dynamics", ()),
        ("talos", "forward_dynamics", ()),
        ("rope", "forward_dynamics", ()),  # loops over links
        ("agile-wrist", "inverse_dynamics", ()),
    ],
)
def test_results_agree_with_the_machine_code(robot, name, by, tmp_path, monkeypatch):
    dyn = ap.Dynamics(robot_of(robot))
    function = getattr(dyn, name)
    function = function.jacobian(*by) if by else function
    arguments = plain_arguments(function, dyn, COUNT)
    arguments[0][3, -1] = 1e9  # an angle that needs the table of digits of 2/π
    arguments[-1][5, 0] = np.nan
    simd, many, singles = run_wasm(
        function.to_wasm("f"), tmp_path, {x.name: v for x, v in zip(function.inputs, arguments, strict=True)}
    )
    with np.errstate(invalid="ignore"):
        expected = function(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    exact = unfused(function, monkeypatch, arguments)
    assert simd
    for output, fused_result, bits in zip(function.outputs, expected, exact, strict=True):
        got = many[output.name].reshape(bits.shape)
        assert np.array_equal(got, bits, equal_nan=True)
        for k, single in enumerate(singles):
            assert np.array_equal(single[output.name].reshape(output.shape), bits[k], equal_nan=True)
        assert relative(np.delete(got, 5, axis=0), np.delete(fused_result, 5, axis=0)) < 1e-12
        assert np.isnan(got[5]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operation_has_the_bits_of_machine_code_without_fused_multiply_adds(dtype, tmp_path, monkeypatch):
    function = Function.of("every", EVERY_OP, every_op)
    rng = np.random.default_rng(3)
    arguments = [rng.standard_normal((COUNT, *array.shape)).astype(dtype) for array in function.inputs]
    files = function.to_wasm("every", dtype=dtype)
    _, many, _ = run_wasm(files, tmp_path, {x.name: v for x, v in zip(function.inputs, arguments, strict=True)})
    for output, bits in zip(function.outputs, unfused(function, monkeypatch, arguments, dtype), strict=True):
        assert np.array_equal(many[output.name].reshape(bits.shape), bits), output.name


def test_an_engine_without_simd_returns_the_same_bits(tmp_path):
    function = Function.of("chain", SHAPES, chain, loops=True)
    rng = np.random.default_rng(4)
    arguments = {array.name: rng.standard_normal((COUNT, *array.shape)) for array in function.inputs}
    files = function.to_wasm("chain")
    simd, many, _ = run_wasm(files, tmp_path, arguments)
    scalar, others, singles = run_wasm(files, tmp_path, arguments, None, NO_SIMD)
    assert (simd, scalar) == (True, False)
    for name, value in many.items():
        assert value.tobytes() == others[name].tobytes()
        assert value.tobytes() == b"".join(each[name].tobytes() for each in singles)


@pytest.mark.parametrize("members", [1, 3])
def test_a_rollout_is_that_of_the_scan(members, tmp_path):
    plan = Rollout(ap.load("panda"), law=lambda t, q, v, *, gain: [-gain[0] * x for x in v], arguments={"gain": 1})
    rng, steps = np.random.default_rng(5), 40
    q, v = rng.uniform(-1.0, 1.0, (2, members, 7))
    torque = rng.standard_normal((members, steps, 7))
    given = {"q": q, "v": v, "dt": 1e-3, "gain": [0.3], "t": 1e-3 * np.arange(steps), "torque": torque}
    options = {"steps": steps, "every": 4, "members": members}
    _, many, _ = run_wasm(plan.scan.to_wasm("step"), tmp_path, given, options)
    expected = plan.scan(q, v, 1e-3, [0.3], given["t"], torque, every=4)
    for array, value in zip(plan.scan.outputs, expected, strict=True):
        assert relative(many[array.name].reshape(value.shape), value) < 1e-12


def test_a_driven_argument_may_be_the_same_in_all_steps(tmp_path):
    scan = Rollout(ap.load("pendulum")).scan
    given = {"q": [0.1], "v": [0.0], "dt": 1e-2, "t": np.zeros(10), "torque": [0.5]}
    _, many, _ = run_wasm(scan.to_wasm("step"), tmp_path, given, {"steps": 10})
    expected = scan([0.1], [0.0], 1e-2, np.zeros(10), np.full((10, 1), 0.5))
    assert relative(many["q"], expected.q[:, 0]) < 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("f.batch({ q: [0], v: [0] })", "argument 'a' is missing; it takes q, v, a"),
        ("f.batch({ q: [0], v: [0], a: [0], tau: [1] })", "has no argument 'tau'"),
        ("f.batch({ q: [1, 2], v: [1, 2, 3], a: [0] })", "argument 'q' has 2 numbers, expected 1 or 3 times as many"),
        ("f.batch({ q: [], v: [1], a: [0] })", "argument 'q' has 0 numbers, expected a multiple of 1"),
        ("f.rollout({}, { steps: 3 })", "is not a step; call batch()"),
        ("f.batch({ q: { length: 3e9 }, v: [0], a: [0] })", "cannot be allocated; split the batch"),
    ],
)
def test_bad_arguments_are_named(call, message, tmp_path):
    ap.Dynamics(ap.load("pendulum")).inverse_dynamics.to_wasm("f").write(tmp_path)
    script = f'import load from "./f.mjs"; const f = await load();\ntry {{ {call}; }} catch (error) '
    printed = run_node(tmp_path, script + "{ console.log(error.message); }")
    assert message in printed
    assert "inverse_dynamics of robot 'pendulum'" in printed


def test_a_file_of_another_program_is_rejected(tmp_path):
    ap.Dynamics(ap.load("pendulum")).gravity.to_wasm("f").write(tmp_path)
    script = 'import load from "./f.mjs";\nconst empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);\n'
    with pytest.raises(RuntimeError, match="was not written by appell"):
        run_node(tmp_path, script + "await load(empty);")


def test_a_function_beyond_the_limits_of_engines_is_refused_with_the_limit(monkeypatch):
    function = ap.Dynamics(ap.load("puma")).forward_dynamics
    monkeypatch.setattr(link, "MAX_FUNCTION_BYTES", 2000)
    with pytest.raises(CompileError, match=r"forward_dynamics' is too large .* bytes") as raised:
        wasm_binary(function, form=Form(chunk=100_000))
    assert "at most 2000 bytes per function" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("MAX_LOCALS", 5, "local variables"), ("MAX_PAGES", 0, "MiB of memory"), ("MAX_MODULE_BYTES", 99, "a module of")],
)
def test_every_limit_is_checked(name, value, message, monkeypatch):
    monkeypatch.setattr(link, name, value)
    with pytest.raises(CompileError, match=message):
        ap.Dynamics(ap.load("puma")).forward_dynamics.to_wasm()


def test_files_are_not_overwritten_and_types_are_checked(tmp_path):
    function = ap.Dynamics(ap.load("pendulum")).gravity
    files = function.to_wasm("weight")
    assert [path.name for path in files.write(tmp_path)] == ["weight.wasm", "weight.mjs", "weight.d.mts"]
    with pytest.raises(AppellError, match="already exists"):
        files.write(tmp_path)
    with pytest.raises(AppellError, match="cannot generate WebAssembly for int32"):
        function.to_wasm(dtype=np.int32)


def test_declarations_are_valid_typescript(program, tmp_path):
    dyn = ap.Dynamics(ap.load("panda"))
    dyn.mass_matrix.to_wasm("inertia").write(tmp_path)
    Rollout(ap.load("pendulum")).scan.to_wasm("step").write(tmp_path)
    (tmp_path / "use.mts").write_text(
        'import inertia from "./inertia.mjs";\nimport step from "./step.mjs";\n'
        "const f = await inertia();\nf.input.q.set([0, 1, 2, 3, 4, 5, 6]);\nf.run();\n"
        "const matrix: Float64Array = f.batch({ q: f.input.q }).M;\nconst g = await step(matrix.buffer);\n"
        "const end: Float64Array = g.rollout({ q: [0.1], v: [0], dt: 0.01, t: 0, torque: 0 }, { steps: 5 }).q;\n"
        "// @ts-expect-error a wrong name\nf.input.x;\nexport { end };\n"
    )
    command = [program("tsc"), "--noEmit", "--strict", "--target", "es2022", "--module", "node16", "use.mts"]
    ended = subprocess.run([*command, "--lib", "es2022,dom"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stdout
