"""Functions of PyTorch tensors: the compiled kernel runs on the memory of the tensors, with derivatives for autograd.

    tau = dyn.inverse_dynamics.to_torch()
    tau(q, v, a).sum().backward()                 the same arguments, by position or by name; leading axes are batches
    torch.func.grad, vmap, jvp, vjp, jacrev, hessian, torch.autograd.gradcheck, ...

Backward mode is one kernel, Jᵀ G for all arguments that require a gradient. It is a function of the same kind, so it
can be differentiated again. Forward mode is J ẋ in one kernel. Nothing is copied: a kernel reads a tensor with any
strides in place and writes to a new one. Tensors must be on the CPU and have type float64 or float32; together they
give float64. Derivatives are with respect to the elements of each argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.arguments import call_signature, common_batch, in_order
from appell.compile.exchange.differentiable import DifferentiableFunction
from appell.compile.results import named_results
from appell.errors import ArgumentError, needed_package

if TYPE_CHECKING:
    from appell.compile.function import Function

torch = needed_package("torch", "to_torch", "appell[torch]")
_KINDS = (torch.float32, torch.float64)


class Call(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """The call of a function for autograd; all tensors have one type and one batch shape."""

    @staticmethod
    def forward(of: DifferentiableFunction, *tensors: Any) -> tuple[Any, ...]:
        returned = of.function(*[x.detach().numpy() for x in tensors])
        results = returned if len(of.outputs) > 1 else (returned,)
        return tuple([torch.from_numpy(np.asarray(x)) for x in results])

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.of, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
        wrt = [k for k, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        gradients = iter(Call.apply(ctx.of.pulled_back(wrt), *ctx.saved_tensors, *weights))
        return (None, *(next(gradients) if k in wrt else None for k in range(len(ctx.of.inputs))))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        wrt = [k for k, tangent in enumerate(tangents) if tangent is not None]
        return Call.apply(ctx.of.along(wrt), *ctx.saved_tensors, *(tangents[k] for k in wrt))

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], of: DifferentiableFunction, *tensors: Any) -> tuple[Any, Any]:
        batched = [
            x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0)
            for x, axis in zip(tensors, axes[1:], strict=True)
        ]
        return Call.apply(of, *batched), (0,) * len(of.outputs)


# without it `apply` determines the signature in every call, which takes longer than a kernel
vars(Call)["forward"].__func__.__signature__ = signature(Call.forward)


class TorchFunction:
    """A function of PyTorch tensors."""

    def __init__(self, function: Function):
        self.function = function
        self.__name__ = function.name
        self.__doc__ = function.__doc__
        self.__signature__ = call_signature(function.inputs)
        self._of = DifferentiableFunction(function)
        self._shapes = [array.shape for array in function.inputs]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named or not self._fit(arguments):
            arguments = self._fitted(in_order(self.function.title, self.function.inputs, arguments, named))
        return named_results(self.function.name, self.function.outputs, Call.apply(self._of, *arguments))

    def _fit(self, arguments: Sequence[Any]) -> bool:
        """Return whether all arguments are tensors of one type and batch shape: a quick test that most calls pass."""
        if len(arguments) != len(self._shapes) or not all(isinstance(x, torch.Tensor) and x.is_cpu for x in arguments):
            return False
        first = arguments[0]
        kind, batch = first.dtype, first.shape[: first.ndim - len(self._shapes[0])]
        return kind in _KINDS and all(
            x.dtype is kind and x.shape == (*batch, *shape) for x, shape in zip(arguments, self._shapes, strict=True)
        )

    def _fitted(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        tensors = self._tensors(arguments)
        batch = common_batch(self.function.title, self.function.inputs, [tuple(x.shape) for x in tensors])
        return tuple(x.expand(*batch, *shape) for x, shape in zip(tensors, self._shapes, strict=True))

    def __repr__(self) -> str:
        return f"<PyTorch kernel of {self.function!r}>"

    def __reduce__(self):
        return TorchFunction, (self.function,)

    def _tensors(self, arguments: Sequence[Any]) -> list[Any]:
        """Return all arguments as tensors of one type, the common type of those that are arrays or tensors."""
        typed = [torch.as_tensor(x) if isinstance(x, np.ndarray | np.generic) else x for x in arguments]
        kinds = [x.dtype for x in typed if isinstance(x, torch.Tensor)]
        kind = reduce(torch.promote_types, kinds) if kinds else torch.get_default_dtype()
        if not (kind.is_floating_point or kind.is_complex):
            kind = torch.get_default_dtype()
        title = self.function.title
        if kind not in _KINDS:
            raise ArgumentError(
                f"{title} is called with numbers of type {kind}.", expected="torch.float32 or torch.float64"
            )
        for x, array in zip(typed, self.function.inputs, strict=True):
            if isinstance(x, torch.Tensor) and x.device.type != "cpu":
                raise ArgumentError(
                    f"{title}: argument {array.name} is a tensor on {x.device}; the kernel runs on the CPU.",
                    hint=f"Pass {array.name}.cpu().",
                )
        return [torch.as_tensor(x, dtype=kind) for x in typed]
