"""Exports that replay a tape agree with the compiled function and its derivatives."""

from __future__ import annotations

import inspect
import json
import runpy
from dataclasses import replace
from functools import cache

import jsonschema
import numpy as np
import pytest

import appell as ap
from appell.algebra.scalar import cos, sin
from appell.compile.exchange.python_text import LIBRARIES, python_text
from appell.compile.exchange.replay import half_to_even
from appell.compile.exchange.to_json import schema
from appell.compile.exchange.to_sympy import sympy_text
from appell.compile.function import Function
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape, verify
from appell.errors import ArgumentError
from appell_lab.bench.subject import find
from export_cases import EVERY_OP, every_op


@cache
def dynamics(name: str) -> ap.Dynamics:
    return ap.Dynamics(find("talos").robot if name == "talos" else ap.load(name))


def samples(function: Function, dyn: ap.Dynamics | None, count: int = 3) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(7)
    drawn = []
    for _ in range(count):
        draws = [rng.uniform(-0.7, 0.7, array.shape) for array in function.inputs]
        if dyn is not None and function.inputs[0].name == "q":
            draws[0] = dyn.system.random_configuration(rng) if not dyn.system.is_flat else draws[0]
        drawn.append(draws)
    return drawn


def assert_same(results, expected, tolerance: float = 1e-13) -> None:
    expected = expected if isinstance(expected, tuple) else (expected,)
    for result, right in zip(results, expected, strict=True):
        right = np.asarray(right)
        np.testing.assert_allclose(
            np.asarray(result, float).reshape(right.shape),
            right,
            rtol=tolerance,
            atol=tolerance * max(1, abs(right).max()),
        )


CASES = [
    *(("puma", name) for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix")),
    ("panda", "inverse_dynamics"),
    ("agile-wrist", "inverse_dynamics"),
    ("agile-wrist", "mass_matrix"),
    ("talos", "inverse_dynamics"),
]


@pytest.mark.parametrize(("robot", "name"), CASES)
def test_a_casadi_function_gives_the_compiled_values(robot, name):
    dyn = dynamics(robot)
    function = getattr(dyn, name)
    exported = function.to_casadi()
    assert exported.name_in() == [array.name for array in function.inputs]
    assert exported.name_out() == [array.name for array in function.outputs]
    for arguments in samples(function, dyn):
        assert_same([exported(*arguments)], function(*arguments))


@pytest.mark.parametrize(("robot", "name"), [case for case in CASES if case[0] != "talos"])
def test_casadi_differentiates_to_the_compiled_derivatives(robot, name):
    dyn = dynamics(robot)
    function = getattr(dyn, name)
    exported = function.to_casadi()
    jacobian = exported.jacobian()
    ours = function.jacobian(*(array.name for array in function.inputs))
    for arguments in samples(function, dyn, count=2):
        theirs = jacobian(*arguments, exported(*arguments))
        theirs = theirs if isinstance(theirs, tuple) else (theirs,)
        right = ours(*arguments)
        right = right if isinstance(right, tuple) else (right,)
        for result, expected in zip(theirs, right, strict=True):
            if expected.ndim == 3:  # CasADi's rows go through a matrix by columns, ours by rows
                expected = expected.swapaxes(0, 1)
            assert_same([np.asarray(result).reshape(expected.shape)], expected, 1e-11)


def test_every_instruction_means_the_same_in_casadi():
    function = Function.of("every_op", EVERY_OP, every_op)
    assert {node[0] for node in function.tape.nodes} == set(Op) - {Op.FMA, Op.FMS, Op.FNMA}
    for arguments in samples(function, None, 20):
        assert_same(function.to_casadi()(*arguments), function(*arguments), 1e-14)


@pytest.mark.parametrize("x", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.2, -0.2, 1.7, 3.0, -4.0])
def test_a_half_is_rounded_to_even(x):
    assert half_to_even(x, np.floor, np.ceil) == np.rint(x)


def test_sympy_expressions_give_the_compiled_values():
    import sympy

    for function, dyn in (
        (Function.of("every_op", EVERY_OP, every_op), None),
        (dynamics("puma").inverse_dynamics,) * 2,
    ):
        dyn = dynamics("puma") if dyn is not None else None
        symbolic = function.to_sympy()
        scalars = [x for array in function.inputs for x in np.ravel(np.array(symbolic.arguments[array.name]))]
        exprs = [x for value in symbolic.results.values() for x in np.ravel(np.array(value))]
        names = [symbol for symbol, _ in symbolic.common]
        for arguments in samples(function, dyn, 3):
            known = np.concatenate([np.ravel(x) for x in arguments]).tolist()
            for symbol, expression in symbolic.common:
                known.append(float(sympy.lambdify([*scalars, *names[: len(known) - len(scalars)]], expression)(*known)))
                assert symbol == names[len(known) - len(scalars) - 1]
            values = sympy.lambdify([*scalars, *names], exprs)(*known)
            expected = function(*arguments)
            expected = expected if isinstance(expected, tuple) else (expected,)
            right = np.concatenate([np.ravel(x) for x in expected])
            np.testing.assert_allclose(values, right, rtol=1e-13, atol=1e-13 * abs(right).max())


def test_sympy_differentiates_to_the_compiled_derivatives():
    import sympy

    dyn = dynamics("planar-2r")
    symbolic = dyn.inverse_dynamics.to_sympy()
    tau, q = symbolic.expanded()["tau"], symbolic.arguments["q"]
    scalars = [x for value in symbolic.arguments.values() for x in value]
    jacobian = sympy.lambdify(scalars, tau.jacobian(q))
    for arguments in samples(dyn.inverse_dynamics, dyn):
        assert_same([jacobian(*np.concatenate(arguments))], dyn.inverse_dynamics.jacobian("q")(*arguments), 1e-11)


def test_expressions_that_are_too_long_are_not_expanded():
    with pytest.raises(ArgumentError, match=r"more than \d+ operations"):
        dynamics("panda").forward_dynamics.to_sympy().expanded()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_python_module_gives_the_compiled_values_on_batches(library):
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    for function, dyn in ((Function.of("every_op", EVERY_OP, every_op), None), (dynamics("puma").inverse_dynamics, 1)):
        space: dict = {}
        exec(python_text(function, library), space)
        batch = [np.stack(column) for column in zip(*samples(function, dyn and dynamics("puma"), 5), strict=True)]
        batch[-1] = batch[-1][0]  # broadcasts
        given = batch
        if library == "torch":
            import torch

            given = [torch.as_tensor(x) for x in batch]
        returned = space[function.name](*given)
        assert_same(returned if isinstance(returned, tuple) else (returned,), function(*batch))


def test_a_sympy_module_defines_the_same_expressions():
    function = dynamics("planar-2r").inverse_dynamics
    space: dict = {}
    exec(sympy_text(function), space)
    symbolic = function.to_sympy()
    assert space["common"] == list(symbolic.common)
    assert space["results"]["tau"] == symbolic.results["tau"]


HOSTILE = (
    "left-foot",
    "arm/tool.0",
    "tool(q=__import__('os').system('touch ran')):#",
    'tool"""+str(__import__("os").system("touch ran"))+"""',
    "x\\",
    "größe",
    "2nd",
    "class",
    "*/ int x; /*",
)


def hostile(frame: str) -> tuple[Function, Function]:
    """The pose of a frame, and inverse dynamics with a wrench on it."""
    system = ap.load("planar-2r")
    system = system.with_frames([replace(system.frame("tool"), name=frame)])
    return ap.Dynamics(system).pose(frame), ap.Dynamics(system, wrenches=[frame]).inverse_dynamics


@pytest.mark.parametrize("frame", HOSTILE)
@pytest.mark.parametrize("library", LIBRARIES)
def test_no_name_of_a_frame_becomes_python_code(frame, library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for function in hostile(frame):
        path = tmp_path / "exported.py"
        path.write_text(python_text(function, library), encoding="utf-8")
        arguments = [np.asarray(x, np.float32 if library == "jax" else float) for x in samples(function, None, 1)[0]]
        (exported,) = [each for each in runpy.run_path(str(path)).values() if inspect.isfunction(each)]
        given = [__import__("torch").as_tensor(x) for x in arguments] if library == "torch" else arguments
        returned = exported(*given)
        returned = returned if isinstance(returned, tuple) else (returned,)
        assert_same(returned, function(*arguments), 1e-5 if library == "jax" else 1e-13)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("frame", HOSTILE)
def test_no_name_of_a_frame_becomes_code_of_sympy_or_casadi(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for function in hostile(frame):
        arguments = samples(function, None, 1)[0]
        expected = function(*arguments)
        expected = expected if isinstance(expected, tuple) else (expected,)
        space: dict = {}
        exec(sympy_text(function), space)
        symbols = [x for value in space["arguments"].values() for x in value]
        known = dict(zip(symbols, np.concatenate(arguments), strict=True))
        for symbol, expression in space["common"]:
            known[symbol] = expression.subs(known)
        assert_same([value.subs(known) for value in space["results"].values()], expected)
        exported = function.to_casadi()
        assert all(name.isidentifier() for name in (exported.name(), *exported.name_in(), *exported.name_out()))
        results = exported(*arguments)
        assert_same(results if isinstance(results, tuple) else (results,), expected)
    assert list(tmp_path.iterdir()) == []


def test_names_that_become_equal_are_numbered_and_valid_names_stay():
    def body(*vectors):
        return {"sum": [sum(x[0] for x in vectors), vectors[0][1]]}

    names = ("a-b", "a_b", "a/b", "np", "class")
    function = Function.of("np", dict.fromkeys(names, 2), body)
    text = python_text(function, "numpy")
    assert "def np_2(a_b_2, a_b, a_b_3, np_2, class_2):" in text
    space: dict = {}
    exec(text, space)
    arguments = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(space["np_2"](*arguments), function(*arguments))
    assert function.to_casadi().name_in() == ["a_b_2", "a_b", "a_b_3", "np", "class"]
    elements = Function.of("f", {"a": 12, "a1": 2}, lambda a, b: {"y": a[10] - b[0]}).to_sympy()
    assert str(elements.results["y"]) == "a10 - a10_2"


def test_common_symbols_of_sympy_differ_from_those_of_arguments():
    def body(x, c):
        shared = sin(x[0] * c[0])
        return {"y": [shared * x[1], shared * c[1]]}

    symbolic = Function.of("f", {"x": 2, "c": 2}, body).to_sympy()
    assert [str(symbol) for symbol, _ in symbolic.common] == ["c_0"]
    assert str(symbolic.expanded()["y"][0]) == "x1*sin(c0*x0)"


def tape_from(text: str) -> Tape:
    """The tape that a reader of the JSON text would build."""
    read = json.loads(text)
    inputs, outputs = (tuple(Array(x["name"], tuple(x["shape"])) for x in read[key]) for key in ("inputs", "outputs"))
    nodes = tuple((int(Op[name.upper()]), *operands) for name, *operands in read["nodes"])
    return verify(Tape(read["name"], inputs, outputs, nodes, tuple(read["results"])))


def test_json_restores_the_tape_and_matches_its_schema():
    for function in (dynamics("puma").forward_dynamics, Function.of("every_op", EVERY_OP, every_op)):
        text = function.to_json()
        jsonschema.validate(json.loads(text), schema())
        assert tape_from(text) == function.tape
    fused = Function(dynamics("puma").inverse_dynamics.fused)
    jsonschema.validate(json.loads(fused.to_json()), schema())


def test_latex_counts_from_one_and_dots_velocities():
    text = dynamics("pendulum").inverse_dynamics.to_latex()
    assert text.startswith("\\begin{align*}\n\\tau_{1} &= ")
    assert "\\ddot{q}_{1}" in text
    assert "4.905 \\sin{\\left(q_{1} \\right)}" in text  # m g l of the zoo's pendulum
    assert "M_{1,2} &=" in dynamics("planar-2r").mass_matrix.to_latex()


def test_latex_of_a_large_robot_is_rejected_with_a_hint():
    with pytest.raises(ArgumentError, match=r"equations.\n.*at most \d+ for LaTeX\n.*to_sympy"):
        dynamics("talos").inverse_dynamics.to_latex()


@pytest.mark.parametrize("package", ["casadi", "sympy"])
def test_a_missing_package_is_named_with_an_install_hint(package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    message = rf"{package}, which is not installed.\n.*pip install 'appell\[{package}\]'"
    with pytest.raises(ArgumentError, match=message):
        getattr(dynamics("pendulum").gravity, f"to_{package}")()


def test_names_that_the_text_of_a_module_uses_do_not_replace_its_own():
    """An argument `common` or `cos` once replaced the list or the function of the module."""
    names = ("common", "cos", "results")
    function = Function.of("f", dict.fromkeys(names, ()), lambda x, y, z: {"cos": x * y + cos(z)})
    space: dict = {}
    exec(sympy_text(function), space)
    known = dict(zip(space["arguments"].values(), (2.0, 3.0, 0.5), strict=True))
    assert list(space["arguments"]) == list(names)
    assert float(space["results"]["cos"].subs(known)) == pytest.approx(6.0 + np.cos(0.5), rel=1e-14)


def test_names_are_not_commands_of_latex():
    function = Function.of("f", {r"\input{x}_^": (), "a%&$#~": ()}, lambda x, y: {r"\write18{y}": x + y})
    text = function.to_latex()
    assert r"\input" not in text
    assert r"\write" not in text
    assert r"\mathrm{\backslash input\{x\}\_\hat{\ }}" in text
    assert r"\mathrm{a\%\&\$\#\sim }" in text


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_that_python_reads_as_the_same_name_are_distinguished(library):
    """Python reads the identifier 𝐪 as q; once, this was a SyntaxError of the exported module."""
    function = Function.of("f", {"q": 2, "𝐪": 2}, lambda x, y: {"z": [x[0] - y[0], x[1] * y[1]]})
    text = python_text(function, library)
    assert "def f(q, f):" in text
    compile(text, "exported.py", "exec")


def test_an_argument_may_be_called_float():
    """The text of a NumPy module converts arguments to arrays of float."""
    function, space = Function.of("float", {"float": 2}, lambda x: {"y": [x[0] - x[1]]}), {}
    exec(python_text(function, "numpy"), space)
    (exported,) = [each for each in space.values() if inspect.isfunction(each)]
    np.testing.assert_array_equal(exported([3.0, 1.0]), [2.0])
