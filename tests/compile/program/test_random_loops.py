"""Random loops: a program computes what its body computes, and machine code of any form computes the same."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from appell.algebra.loops import UNROLLED
from appell.compile.llvm.lanes import Form
from appell.compile.program.reverse import Gradient, NotReversibleError, reverse
from appell.compile.program.roll import roll
from appell.compile.tape.differentiate import jacobian, weighted
from appell.compile.tape.differentiate import seed as seed_of
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.formula import fused, unrolled
from appell.compile.tape.tape import Array, arrays
from compile.program.interpreter import run
from compile.ufuncs import make_ufunc
from random_loops import SHAPES, SIZE, random_body

seeds = st.integers(0, 10**9)


def samples(seed: int, count: int = 11):
    draw = np.random.default_rng(seed)
    return draw.uniform(-2, 2, (count, SIZE)), draw.uniform(-2, 2, count)


def bits(results) -> list[bytes]:
    return [np.ascontiguousarray(result).tobytes() for result in results]


@settings(max_examples=150, deadline=None)
@example(5313, False)  # two rows of a table share a slot, and one of them is written
@given(seeds, st.booleans())
def test_a_program_computes_what_its_body_computes_on_numbers(seed, angles):
    body = random_body(seed, angles)
    program = roll("any", arrays(SHAPES), body)
    (q, *_), (p, *_) = samples(seed)
    wanted = body(q.tolist(), float(p), UNROLLED)
    for result, name in zip(run(program, q, p), wanted, strict=True):
        np.testing.assert_allclose(result, np.array(wanted[name]), rtol=1e-11, atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(seeds, st.booleans())
def test_an_unrolled_program_is_the_same_function(seed, angles):
    program = roll("any", arrays(SHAPES), random_body(seed, angles))
    (q, *_), (p, *_) = samples(seed)
    for one, other in zip(run(program, q, p), evaluate(unrolled(program), q, p), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@settings(max_examples=12, deadline=None)
@given(seeds)
def test_machine_code_has_the_bits_of_the_interpreter_in_every_form(seed):
    program = fused(roll("any", arrays(SHAPES), random_body(seed, angles=False)))
    q, p = samples(seed)
    wanted = [run(program, *sample) for sample in zip(q, p, strict=True)]
    for form in (Form(), Form(register=64), Form(chunk=5)):
        made = make_ufunc(program, form=form)
        result = made(q, p)
        for k, row in enumerate(wanted):
            assert bits(result[k] for result in result) == bits(row)
            assert bits(made(q[k], p[k])) == bits(row)


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_results_with_sines_and_floats_do_not_depend_on_form_or_position_in_a_batch(seed):
    program = fused(roll("any", arrays(SHAPES), random_body(seed, angles=True)))
    q, p = samples(seed)
    wanted = [run(program, *sample) for sample in zip(q, p, strict=True)]
    for kind, tolerance in ((np.float64, 1e-11), (np.float32, 1e-2)):
        a, b = q.astype(kind), p.astype(kind)
        first = make_ufunc(program)(a, b)
        for column, result in enumerate(first):
            np.testing.assert_allclose(result, [row[column] for row in wanted], rtol=tolerance, atol=tolerance)
        for form in (Form(register=64), Form(chunk=5)):
            assert bits(make_ufunc(program, form=form)(a[::-1], b[::-1])) == bits(x[::-1] for x in first)


@settings(max_examples=40, deadline=None)
@given(seeds, st.booleans())
def test_reverse_mode_of_a_program_is_that_of_its_tape(seed, angles):
    program = roll("any", arrays(SHAPES), random_body(seed, angles))
    tape = unrolled(program)
    weights = {array.name: f"by_{array.name}" for array in program.outputs}
    by = [Array(weights[array.name], array.shape) for array in program.outputs]
    gradients = [Gradient(f"d{name}", name) for name in ("q", "p")]
    try:
        reversed_program = reverse(program, "back", (*program.inputs, *by), weights, gradients)
    except NotReversibleError:
        return
    (q, *_), (p, *_) = samples(seed)
    given_weights = [np.random.default_rng(seed).uniform(-1, 1, array.shape) for array in by]
    total = weighted(tape, "total", by)
    seeds_of = [seed_of(total.inputs, name) for name in ("q", "p")]
    expected = evaluate(jacobian(total, "slopes", seeds_of, ("q", "p")), q, p, *given_weights)
    for slope, other in zip(run(reversed_program, q, p, *given_weights), expected, strict=True):
        np.testing.assert_allclose(slope, np.ravel(other), rtol=1e-9, atol=1e-9)
