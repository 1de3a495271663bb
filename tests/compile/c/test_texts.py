"""Texts and names of exported files, and rejected arguments."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.compile.c.signature import RESERVED, comment
from appell.compile.c.source import StepMemory, c_step
from appell.compile.function import Function
from appell.compile.native.machine import host
from appell.errors import ArgumentError, CompileError


def area(name: str = "area", argument: str = "r", owner: str = "") -> Function:
    return Function.of(name, {argument: ()}, lambda r: {"result": 3.0 * r * r}, "The area.", owner)


def test_the_header_states_names_shapes_counts_robot_and_version():
    code = ap.Dynamics(ap.load("puma")).inverse_dynamics.jacobian("q").to_c("arm_slopes")
    header, counts = code.header, code.count
    assert "void arm_slopes(const double q[6], const double v[6], const double a[6], double dtau_dq[36]);" in header
    assert "dtau_dq[36], 6 x 6, row-major" in header
    assert f"{counts.mul} multiplications, {counts.add} additions" in header
    assert "robot 'puma'" in header
    assert f"appell {ap.__version__}" in header
    assert "x[k * n_ + i]" in header


def test_scalars_are_passed_by_value_and_floats_are_float():
    code = area().to_c("disc", dtype=np.float32)
    assert "void disc(float r, float result[1]);" in code.header
    assert "double" not in code.source
    assert "0x1.8p+1f" in code.source


def test_the_default_name_consists_of_robot_and_function():
    assert ap.Dynamics(ap.load("agile-wrist")).gravity.to_c().name == "agile_wrist_gravity"
    assert area("2 areas", owner="robot '3-legs'").to_c().name == "f_3_legs_2_areas"
    assert area().to_c().name == "appell_area"


@pytest.mark.parametrize("name", ["", "2r", "my-arm", "arm torque", "größe", "a" * 300, "_x", 'x"; int y', 7])
def test_a_name_that_is_not_an_identifier_is_rejected(name):
    with pytest.raises(ArgumentError, match="not an identifier of C"):
        area().to_c(name)


@pytest.mark.parametrize("name", ["while", "restrict", "class", "main"])
def test_a_reserved_word_is_rejected(name):
    assert name in RESERVED
    with pytest.raises(ArgumentError, match=f"'{name}' is a reserved word"):
        area().to_c(name)


@pytest.mark.parametrize("name", ["step", "memcpy", "gamma"])
def test_a_name_of_the_c_library_is_rejected(name):
    with pytest.raises(ArgumentError, match=f"'{name}' is the name of a function of the C library"):
        area().to_c(name)


def test_a_name_of_an_argument_is_rejected():
    with pytest.raises(ArgumentError, match="'r' is the name of an argument"):
        area().to_c("r")


@pytest.mark.parametrize("argument", ["double", "t3", "n_", "flag_", "M_", "k_local_", "x y"])
def test_an_argument_with_a_reserved_or_generated_name_is_rejected(argument):
    with pytest.raises(ArgumentError, match="argument or result of area"):
        area(argument=argument).to_c("disc")


@pytest.mark.parametrize(("argument", "result"), ["ik", "ln", "ki", "nl", ("flag", "frame"), ("state", "M"), "so"])
def test_names_of_arrays_do_not_collide_with_variables_of_the_code(argument, result, tmp_path, program):
    def body(x, u):
        return {result: [x[0] * u.sin(), x[1]], "count": [u, x[0]]}

    function = Function.of("f", {argument: 2, "u": ()}, body)
    function.to_c("once").write(tmp_path)
    c_step(function, StepMemory({argument: result}, {argument: [1.0, 2.0]}, ["count"]), "stepped").write(tmp_path)
    strict = [program("gcc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "once.c", "stepped.c"]
    subprocess.run(strict, cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("shapes", "body", "said"),
    [
        ({}, lambda: {"y": 1.0}, "no arguments"),
        ({"t": ()}, lambda t: {}, "no results"),
        ({"t": (), "x": 0}, lambda t, x: {"y": t}, "x.0. is empty"),
    ],
)
def test_functions_without_arguments_or_results_are_rejected(shapes, body, said):
    function = Function.of("odd", shapes, body)
    with pytest.raises(CompileError, match=said):
        function.to_c("odd_one")
    with pytest.raises(CompileError, match=said):
        function.compile()


@pytest.mark.parametrize("dtype", ["int32", "float16", "complex128", "longdouble", "nothing"])
def test_only_double_and_float_are_supported(dtype):
    if dtype == "longdouble" and np.dtype(dtype) == np.float64:
        pytest.skip("long double is double on this system")
    with pytest.raises(ArgumentError, match="float64"):
        area().to_c("disc", dtype=dtype)


def test_files_are_never_overwritten_silently(tmp_path):
    code = area().to_c("disc")
    source, header = code.write(tmp_path / "new")
    assert (source.name, header.name) == ("disc.c", "disc.h")
    source.write_text("mine")
    header.unlink()
    with pytest.raises(ArgumentError, match=r"disc\.c already exists"):
        code.write(tmp_path / "new")
    assert source.read_text() == "mine"
    assert not header.exists()
    code.write(tmp_path / "new", overwrite=True)
    assert source.read_text(encoding="utf-8") == code.source
    with pytest.raises(ArgumentError, match=r"the folder '.*disc\.c': File (already )?exists"):
        code.write(source)


def test_a_full_disk_leaves_neither_file(tmp_path, monkeypatch):
    code, write = area().to_c("disc"), Path.write_bytes

    def fill_up(path, content):
        write(path, content[:10])
        if ".disc.h." in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fill_up)
    with pytest.raises(ArgumentError, match=r"disc\.h: No space left on device"):
        code.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_text_can_end_its_comment():
    owner = "robot 'evil */ int x; /*'"
    code = Function.of("f", {"r": ()}, lambda r: {"y": r}, "*/ #error \\\n*/", owner).to_c("f")
    assert code.header.count("*/") == code.header.count("/*")
    assert code.source.count("*/") == code.source.count("/*")
    assert comment("a\nb */\\") == "a b * /"


def test_all_symbols_start_with_the_name(tmp_path, program):
    nm, gcc = program("nm"), program("gcc")
    ap.Dynamics(ap.load("agile-wrist")).gravity.to_c("weight").write(tmp_path)
    subprocess.run([gcc, "-O1", "-march=native", "-fno-math-errno", "-c", "weight.c"], cwd=tmp_path, check=True)
    listed = subprocess.run([nm, "weight.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    defined = {row[-1]: row[-2] for row in rows if row[-2] != "U"}
    assert {name for name, kind in defined.items() if kind == "T"} == {"weight", "weight_batch"}
    assert not {kind for kind in defined.values()} & set("BbDdC")  # nothing is stored between calls
    allowed = set() if host().has_fma else {"fma"}
    foreign = {row[-1] for row in rows if row[-2] == "U"}
    assert (
        foreign <= {"memcpy", "memset", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"} | allowed
    )  # no mathematical library, no allocation


def test_a_header_can_be_included_in_cpp(tmp_path, program):
    gcc, cpp = program("gcc"), program("g++")
    area().to_c("disc").write(tmp_path)
    (tmp_path / "use.cpp").write_text(
        '#include "disc.h"\nint main() { double y[1]; disc(2.0, y); return y[0] != 12; }\n'
    )
    subprocess.run([gcc, "-c", "-std=c99", "disc.c"], cwd=tmp_path, check=True)
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-std=c++11"]
    subprocess.run([cpp, *strict, "use.cpp", "disc.o", "-o", "use", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "use"]).returncode == 0


def test_fast_math_is_rejected(tmp_path, program):
    gcc = program("gcc")
    area().to_c("disc").write(tmp_path)
    done = subprocess.run(
        [gcc, "-Ofast", "-c", "disc.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode
    assert "compile it without -ffast-math" in done.stderr


def test_an_invalid_state_of_a_step_is_rejected_by_name():
    step = Function.of("fall", {"x": 2, "u": ()}, lambda x, u: {"x": [x[1], u], "speed": x[0]})
    for memory, said in (
        (StepMemory({"y": "x"}, {}), "no argument 'y'"),
        (StepMemory({"x": "z"}, {}), "no result 'z'"),
        (StepMemory({"x": "speed"}, {}), "cannot become argument x"),
        (StepMemory({"x": "x"}, {"x": [1.0, 2.0, 3.0]}), "the initial value of x"),
        (StepMemory({"x": "x"}, {"x": np.nan}), "the initial value of x"),
        (StepMemory({"x": "x"}, {}, given=["w"]), "no result 'w'"),
    ):
        with pytest.raises(ArgumentError, match=said):
            c_step(step, memory, "fall")
    code = c_step(step, StepMemory({"x": "x"}, {"x": [1.0, 2.0]}, given=["speed"]), "fall")
    assert "void fall_step(fall_state *state_, double u, double speed[1]);" in code.header
