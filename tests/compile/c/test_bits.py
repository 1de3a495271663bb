"""Exported C gives the bits of the compiled function, under the compilers of this machine and on emulated boards."""

from __future__ import annotations

import platform
from functools import cache

import numpy as np
import pytest

import appell as ap
from appell.algebra.scalar import atan2, cos, level, nearest, select, sin, sqrt
from appell.compile.c import body as c_body
from appell.compile.function import Function
from appell.compile.native.machine import host
from appell_lab.bench.subject import find
from appell_lab.boards.board import BOARDS, Board, BoardJob
from looped_functions import SHAPES, chain
from programs import find_program

COUNT = 19  # more than one block of floats, and not a multiple of a block
FUSED = pytest.mark.skipif(
    not host().has_fma, reason="the compiled function rounds twice here: this machine has no fused multiply-add"
)
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines always have fused multiply-adds")
pytestmark = FUSED


@cache
def dynamics(name: str) -> ap.Dynamics:
    return ap.Dynamics(find("talos").robot if name == "talos" else ap.load(name))


@cache
def function(robot: str, name: str) -> Function:
    """Return a function, or its derivatives by name: inverse_dynamics/q,v."""
    name, _, by = name.partition("/")
    function = getattr(dynamics(robot), name)
    return function.jacobian(*by.split(",")) if by else function


def samples(robot: str, of: Function, dtype: str) -> tuple[np.ndarray, ...]:
    """Return random states; among them two huge angles, NaN and infinity."""
    rng, system = np.random.default_rng(7), dynamics(robot).system
    q = np.array([system.random_configuration(rng) for _ in range(COUNT)])
    rest = [rng.uniform(-3.0, 3.0, (COUNT, *array.shape)) for array in of.inputs[1:]]
    arrays = [array.astype(dtype) for array in (q, *rest)]
    arrays[0][3, -1], arrays[0][5, -2] = 1e9, -7e30
    arrays[-1][11, 1], arrays[0][16, 0] = np.nan, np.inf
    return tuple(arrays)


def same(results: list[np.ndarray], wanted) -> bool:
    """Return whether arrays are equal to the last bit, signs of zeros included; all NaNs are equal."""
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    pairs = [(x, np.asarray(y)) for x, y in zip(results, wanted, strict=True)]
    return all(
        np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x) & (x == 0), np.signbit(y) & (y == 0))
        for x, y in pairs
    )


def check(board: Board, jobs: dict[str, BoardJob], folder, flags=()) -> None:
    for name in board.programs:
        find_program(name)
    outcome = board.run(jobs, folder, flags)
    with np.errstate(all="ignore"):
        for name, job in jobs.items():
            wanted = job.function(*job.samples)
            assert same(outcome.one[name], wanted), f"{name}, one by one"
            assert same(outcome.batch[name], wanted), f"{name}, as a batch"


def jobs_of(cases: list[tuple[str, str]], dtype: str) -> dict[str, BoardJob]:
    jobs = {}
    for robot, name in cases:
        of = function(robot, name)
        jobs[f"{robot} {name}"] = BoardJob(of.to_c(dtype=dtype), of, samples(robot, of, dtype))
    return jobs


FEW_CASES = [
    ("puma", "inverse_dynamics"),
    ("puma", "forward_dynamics"),
    ("puma", "mass_matrix"),
    ("panda", "inverse_dynamics"),
    ("agile-wrist", "inverse_dynamics"),
]
MORE_CASES = [("puma", "inverse_dynamics/q,v"), ("panda", "forward_dynamics"), ("agile-wrist", "mass_matrix")]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_gives_the_bits_of_the_compiled_function(compiler, dtype, tmp_path):
    cases = FEW_CASES + (MORE_CASES if (compiler, dtype) in (("gcc", "float64"), ("clang", "float32")) else [])
    check(BOARDS[compiler], jobs_of(cases, dtype), tmp_path)


def test_a_humanoid_divided_into_several_functions_gives_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(c_body, "CHUNK_STEPS", 300)
    jobs = jobs_of([("talos", "inverse_dynamics")], "float64")
    assert "talos_inverse_dynamics_core3_lanes" in jobs["talos inverse_dynamics"].code.source
    check(BOARDS["gcc"], jobs, tmp_path)


EMULATED = [(name, dtype) for name in ("aarch64", "cortex-m7", "cortex-m4") for dtype in BOARDS[name].formats]


@pytest.mark.parametrize(("board", "dtype"), EMULATED)
def test_emulated_machines_give_the_same_bits(board, dtype, tmp_path):
    """A Cortex-M4 has no doubles, and the fma of doubles of its library does not round once."""
    cases = [("puma", "inverse_dynamics"), ("puma", "forward_dynamics")]
    cases += [("agile-wrist", "mass_matrix")] if dtype == "float64" else [("panda", "mass_matrix")]
    check(BOARDS[board], jobs_of(cases, dtype), tmp_path)


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ("-O0",)),
        ("gcc", ("-Os", "-std=gnu11", "-ffp-contract=fast")),
        pytest.param("gcc", ("-O2", "-march=x86-64", "-mtune=generic"), marks=X86),
        ("clang", ("-O2", "-std=gnu11", "-ffp-contract=on")),
    ],
)
def test_other_flags_change_no_bit(compiler, flags, tmp_path):
    """Both compilers fuse under gnu11; without fused multiply-adds in the target the library function is called."""
    check(BOARDS[compiler], jobs_of([("puma", "inverse_dynamics")], "float64"), tmp_path, flags)


def test_vectorised_straight_code_is_not_fused(tmp_path, monkeypatch):
    """gcc 12 emits vfmsubadd for these statements even with -ffp-contract=off, if it may vectorise them."""
    monkeypatch.setattr(c_body, "CHUNK_STEPS", 500)
    check(BOARDS["gcc"], jobs_of([("panda", "forward_dynamics/q")], "float64"), tmp_path)


@pytest.mark.parametrize(("compiler", "dtype"), [("gcc", "float64"), ("clang", "float32")])
def test_loops_stay_loops_and_give_the_same_bits(compiler, dtype, tmp_path):
    of = Function.of("chain", SHAPES, chain, loops=True)
    rng = np.random.default_rng(3)
    given = [rng.uniform(-3.0, 3.0, (COUNT, size)).astype(dtype) for size in SHAPES.values()]
    given[0][3, 1], given[1][5, 2], given[0][7, 0] = 1e9, np.nan, -np.inf
    code = of.to_c("looped_chain", dtype=dtype)
    assert "for (iteration_ = 0; iteration_ < 7; ++iteration_)" in code.source
    check(BOARDS[compiler], {"chain": BoardJob(code, of, tuple(given))}, tmp_path)


def test_large_frames_of_a_batch_are_not_on_the_stack(tmp_path, monkeypatch):
    monkeypatch.setattr(c_body, "MAX_FRAME_BYTES", 1 << 10)
    of = Function.of("chain", SHAPES, chain, loops=True)
    rng = np.random.default_rng(4)
    given = tuple(rng.uniform(-3.0, 3.0, (COUNT, size)) for size in SHAPES.values())
    check(BOARDS["gcc"], {"chain": BoardJob(of.to_c("one_by_one"), of, given)}, tmp_path)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_results_may_be_constants_or_arguments(compiler, tmp_path):
    of = {
        "constant": Function.of("constant", {"t": ()}, lambda t: {"y": [1.0, -0.0]}),
        "swapped": Function.of("swapped", {"q": 2}, lambda q: {"q": [q[1], q[0]]}),
    }
    rng = np.random.default_rng(6)
    jobs = {
        name: BoardJob(each.to_c(f"some_{name}"), each, tuple(rng.normal(size=(COUNT, *a.shape)) for a in each.inputs))
        for name, each in of.items()
    }
    check(BOARDS[compiler], jobs, tmp_path)


def every_op(x, y, t):
    """Every operation of a tape, with inputs among the results and a result that appears twice."""
    turned = [sin(t), cos(t), sin(x[0] * x[1]), atan2(y[0][0], y[0][1])]
    rest = [nearest(y[1][0]), level(y[1][1]), select(x[0], x[1], -t), sqrt(x[0]), x[0] / x[1], -x[1]]
    curved = [
        ap.exp(t),
        ap.log(x[0]),
        ap.power(x[0], x[1]),
        ap.tanh(t),
        ap.arcsin(y[0][0]),
        ap.arccos(y[0][1]),
        ap.erf(t),
    ]
    chosen = [ap.abs(x[0]), ap.sign(x[1]), ap.minimum(x[0], t), ap.maximum(x[1], t)]
    return {
        "curved": curved,
        "chosen": chosen,
        "turned": turned,
        "rest": [[a, b] for a, b in zip(rest[:3], rest[3:], strict=True)],
        "same": t,
        "two": 2.0,
    }


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("board", ["gcc", "clang", "cortex-m7"])
def test_every_operation_on_extreme_numbers(board, dtype, tmp_path):
    """Zeros of both signs, numbers near the smallest and the largest, and angles of every exponent."""
    of = Function.of("every_op", {"x": 2, "y": (2, 2), "t": ()}, every_op)
    rng, limits = np.random.default_rng(5), np.finfo(dtype)
    count = 400
    exponents = rng.uniform(np.log2(float(limits.tiny)), np.log2(float(limits.max)), (count, 7))
    numbers = (np.exp2(exponents) * rng.choice([-1.0, 1.0], (count, 7))).astype(dtype)
    odd = [0.0, -0.0, limits.smallest_subnormal, -limits.tiny, limits.max, 0.5, 1.5, -2.5, np.pi / 2, np.pi, 2.0**23]
    numbers[:150] = rng.choice(np.array(odd, dtype), (150, 7))
    numbers[150:250] = rng.uniform(-10.0, 10.0, (100, 7))
    given = (numbers[:, :2], numbers[:, 2:6].reshape(count, 2, 2), numbers[:, 6])
    check(BOARDS[board], {"ops": BoardJob(of.to_c("every_op", dtype=dtype), of, given)}, tmp_path)
