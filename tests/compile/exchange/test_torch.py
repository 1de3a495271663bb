"""Functions in PyTorch: the bits of the compiled function, gradients that finite differences confirm, and rollouts."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import appell as ap
from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.errors import ArgumentError
from export_cases import (
    EVERY_OP,
    SAME_BITS,
    arm_step,
    backward_through_time,
    case_of,
    every_op,
    plain_arguments,
    relative,
    rooted,
)
from robots import random_tree


def tensors(arguments, grad: bool = False) -> list[torch.Tensor]:
    return [torch.from_numpy(np.array(x)).requires_grad_(grad) for x in arguments]


@pytest.mark.parametrize(("robot", "name"), SAME_BITS)
def test_results_have_the_bits_of_the_compiled_function(robot, name):
    function, arguments = case_of(robot, name)
    assert np.array_equal(function.to_torch()(*tensors(arguments)), function(*arguments))


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_differences_confirm_gradients_forward_backward_and_twice(name):
    function = getattr(ap.Dynamics(ap.load("planar-2r")), name)
    rng = np.random.default_rng(1)
    point = tensors([rng.uniform(-1.0, 1.0, (2, *array.shape)) for array in function.inputs], grad=True)
    assert gradcheck(function.to_torch(), point, check_forward_ad=True)
    assert gradgradcheck(function.to_torch(), point)


def test_differences_confirm_gradients_of_every_instruction():
    function, rng = Function.of("every_op", EVERY_OP, every_op), np.random.default_rng(2)
    point = tensors([rng.uniform(0.2, 0.6, array.shape) for array in function.inputs], grad=True)
    assert gradcheck(function.to_torch(), point, check_forward_ad=True)


def test_differences_confirm_gradients_of_an_arm_of_six_joints():
    function = ap.Dynamics(ap.load("puma")).forward_dynamics
    assert gradcheck(function.to_torch(), tensors(np.random.default_rng(3).normal(size=(3, 6)), grad=True))


def test_derivatives_by_a_quaternion_are_by_its_four_elements():
    robot = random_tree(2, 4, base="floating")
    dyn = ap.Dynamics(robot)
    function = dyn.inverse_dynamics
    arguments = [x[0] for x in plain_arguments(function, dyn, 1)]
    by_q = torch.func.jacrev(function.to_torch())(*tensors(arguments))
    [directions] = evaluate(function.tangents["q"], arguments[0])
    assert relative(by_q.numpy() @ directions, function.jacobian("q")(*arguments)) <= 1e-11


def test_a_branch_that_is_not_selected_does_not_affect_a_derivative():
    x = torch.tensor([0.0, 4.0], dtype=torch.float64, requires_grad=True)
    rooted().to_torch()(x).sum().backward()
    assert x.grad.tolist() == [3.0, 0.25]


def test_transforms_of_torch_func_compose():
    function = ap.Dynamics(ap.load("planar-2r")).forward_dynamics
    exported, (q, v, u) = function.to_torch(), tensors(np.random.default_rng(4).normal(size=(3, 7, 2)))
    jacobian = function.jacobian("q")(*(x.numpy() for x in (q, v, u)))
    for mode in (torch.func.jacrev, torch.func.jacfwd):
        assert relative(torch.func.vmap(mode(exported))(q, v, u), jacobian) <= 1e-13
        assert relative(torch.func.vmap(mode(exported), (1, 1, None))(q.T, v.T, u[0])[0], jacobian[0]) <= 1e-13
    forward = torch.func.jvp(exported, (q, v, u), (v, u, q))[1]
    _, back = torch.func.vjp(exported, q, v, u)
    weights = torch.ones_like(forward)
    assert float((back(weights)[0] * v).sum() + (back(weights)[1] * u).sum() + (back(weights)[2] * q).sum()) == (
        pytest.approx(float(forward.sum()), rel=1e-12)
    )
    square = torch.func.hessian(lambda q: (exported(q, v[0], u[0]) ** 2).sum())(q[0])
    assert relative(square, square.T) <= 1e-13


def test_number_types_follow_the_arguments():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    exported, arguments = function.to_torch(), np.random.default_rng(5).normal(size=(3, 9, 2))
    singles = arguments.astype(np.float32)
    assert exported(*tensors(singles)).dtype == torch.float32
    assert np.array_equal(exported(*tensors(singles)), function(*singles))
    mixed = [*tensors(arguments[:1], grad=True), *tensors(singles[1:], grad=True)]
    exported(*mixed).sum().backward()
    assert [x.grad.dtype for x in mixed] == [torch.float64, torch.float32, torch.float32]
    assert exported([1, 2], torch.tensor([0, 1]), [2, 3]).dtype == torch.float32  # torch's default
    assert np.array_equal(exported(*arguments), function(*arguments))


def test_batches_broadcast_and_their_gradients_are_summed():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    exported, rng = function.to_torch(), np.random.default_rng(6)
    for batches in [((), (), ()), ((7,), (), (7,)), ((4, 1), (3,), ()), ((0,), (), (0,))]:
        arguments = [rng.normal(size=(*batch, 2)) for batch in batches]
        given = tensors(arguments, grad=True)
        results = exported(*given)
        assert np.array_equal(results.detach(), function(*arguments))
        results.sum().backward()
        assert [x.grad.shape for x in given] == [x.shape for x in given]
    (q,) = tensors(rng.normal(size=(1, 2)), grad=True)
    v, a = tensors(rng.normal(size=(2, 5, 2)))
    (total,) = torch.autograd.grad(exported(q, v, a).sum(), q)
    parts = sum(torch.autograd.grad(exported(q, x, y).sum(), q)[0] for x, y in zip(v, a, strict=True))
    assert relative(total, parts) <= 1e-14


def test_a_tensor_is_read_in_place(monkeypatch):
    """Transposed and repeated tensors reach the kernel with their strides: nothing is copied."""
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    exported, rng = function.to_torch(), np.random.default_rng(7)
    transposed, one = torch.from_numpy(rng.normal(size=(2, 6))).T, torch.from_numpy(rng.normal(size=2))
    function(*np.zeros((3, 2)))
    seen, compiled = [], function.__call__

    def watched(*arrays):
        seen.extend(arrays)
        return compiled(*arrays)

    monkeypatch.setattr(function, "__call__", watched)
    exported(transposed, one, transposed)
    assert [array.ctypes.data for array in seen] == [x.data_ptr() for x in (transposed, one, transposed)]
    assert [array.strides for array in seen] == [(8, 48), (0, 8), (8, 48)]


def test_a_gradient_through_a_hundred_steps_is_that_of_the_jacobians_multiplied_backward():
    step, rng = arm_step(), np.random.default_rng(8)
    exported = step.to_torch()
    q, v = rng.normal(scale=0.2, size=(2, 10_000, 6))
    u = rng.normal(scale=5.0, size=(100, 6))
    torques = torch.from_numpy(u).requires_grad_()
    state = tensors((q, v), grad=True)
    for torque in torques:
        state = exported(*state, torque)
    costs = sum((x**2).sum(-1) for x in state)
    for k in (0, 9_999):
        [gradient] = torch.autograd.grad(costs[k], torques, retain_graph=True)
        value, expected = backward_through_time(step, q[k], v[k], u)
        assert abs(costs[k].item() - value) <= 1e-13 * value
        assert relative(gradient, expected) <= 1e-12
    costs.sum().backward()
    assert torques.grad.isfinite().all()


def test_an_exported_function_accepts_names_and_can_be_pickled():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    arguments = np.random.default_rng(9).normal(size=(3, 2))
    q, v, a = tensors(arguments)
    again = pickle.loads(pickle.dumps(function.to_torch()))
    assert np.array_equal(again(q, a=a, v=v), function(*arguments))
    assert "PyTorch kernel of <Function inverse_dynamics(q[2], v[2], a[2])" in repr(again)


def test_wrong_calls_name_the_argument():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics.to_torch()
    q = torch.zeros(2, dtype=torch.float64)
    for arguments, named, message in [
        ((q, q), {}, "missing argument a"),
        ((q, q, q), {"v": q}, "got argument v twice"),
        ((q, torch.zeros(3), q), {}, r"argument v has shape \(3,\)"),
        (
            (q, q, q.to("meta")),
            {},
            r"argument a is a tensor on meta; the kernel runs on the CPU(.|\n)*a\.cpu\(\)",
        ),
        ((q.half(), q.half(), q.half()), {}, r"is called with numbers of type torch\.float16"),
        ((q, q, q.to(torch.complex64)), {}, r"is called with numbers of type torch\.complex128"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            function(*arguments, **named)


def test_a_missing_package_is_named_with_an_install_hint(monkeypatch):
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "appell.compile.exchange.to_torch", raising=False)
    with pytest.raises(ArgumentError, match=r"to_torch needs the package torch(.|\n)*pip install 'appell\[torch\]'"):
        function.to_torch()
