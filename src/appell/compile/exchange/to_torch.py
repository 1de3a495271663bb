"""A function of PyTorch tensors: the compiled kernel on the memory of the tensors, with derivatives for autograd.

    tau = dyn.inverse_dynamics.to_torch()
    tau(q, v, a).sum().backward()                 the same arguments, by position or by name; leading axes are batches
    torch.func.grad, vmap, jvp, vjp, jacrev, hessian, torch.autograd.gradcheck, ...

Backward is one kernel, Jᵀ G for all arguments that want a gradient, and it is a call like the first, so that it can be
differentiated again. Forward mode is J ẋ in one kernel. Nothing is copied: a kernel reads a tensor where it lies, with
whatever strides it has, and writes into a new one. Tensors are those of the processor, float64 or float32; the two
together give float64. Derivatives are along the plain numbers of each argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.arguments import call_signature, common_batch, in_order, one_or_tuple
from appell.compile.exchange.differentiable import DifferentiableFunction
from appell.errors import ArgumentError, needed_package

if TYPE_CHECKING:
    from appell.compile.function import Function

torch = needed_package("torch", "to_torch", "appell[torch]")
_KINDS = (torch.float32, torch.float64)


class Call(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """The call of a function as autograd sees it: all tensors of one type and one batch."""

    @staticmethod
    def forward(of: DifferentiableFunction, *tensors: Any) -> tuple[Any, ...]:
        found = of.function(*[x.detach().numpy() for x in tensors])
        results = found if len(of.outputs) > 1 else (found,)
        return tuple([torch.from_numpy(np.asarray(x)) for x in results])

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        ctx.of, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
        moved = [k for k, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        found = iter(Call.apply(ctx.of.pulled_back(moved), *ctx.saved_tensors, *weights))
        return (None, *(next(found) if k in moved else None for k in range(len(ctx.of.inputs))))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        moved = [k for k, tangent in enumerate(tangents) if tangent is not None]
        return Call.apply(ctx.of.along(moved), *ctx.saved_tensors, *(tangents[k] for k in moved))

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], of: DifferentiableFunction, *tensors: Any) -> tuple[Any, Any]:
        moved = [
            x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0)
            for x, axis in zip(tensors, axes[1:], strict=True)
        ]
        return Call.apply(of, *moved), (0,) * len(of.outputs)


# else `apply` looks for it in every call, which takes longer than a kernel
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
        return one_or_tuple(Call.apply(self._of, *arguments))

    def _fit(self, arguments: Sequence[Any]) -> bool:
        """Whether all arguments are tensors of one type and batch: what most calls in a loop are, quickly told."""
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
        return f"<kernel in PyTorch of {self.function!r}>"

    def __reduce__(self):
        return TorchFunction, (self.function,)

    def _tensors(self, arguments: Sequence[Any]) -> list[Any]:
        """All arguments as tensors of one type, that in which those with a type of their own meet."""
        typed = [torch.as_tensor(x) if isinstance(x, np.ndarray | np.generic) else x for x in arguments]
        kinds = [x.dtype for x in typed if isinstance(x, torch.Tensor)]
        kind = reduce(torch.promote_types, kinds) if kinds else torch.get_default_dtype()
        if not (kind.is_floating_point or kind.is_complex):
            kind = torch.get_default_dtype()
        whose = self.function.title
        if kind not in _KINDS:
            raise ArgumentError(f"{whose} is called in {kind}.", expected="torch.float32, torch.float64")
        for x, array in zip(typed, self.function.inputs, strict=True):
            if isinstance(x, torch.Tensor) and x.device.type != "cpu":
                raise ArgumentError(
                    f"{whose}: argument {array.name} is a tensor on {x.device}; the kernel runs on the processor.",
                    hint=f"{array.name}.cpu()",
                )
        return [torch.as_tensor(x, dtype=kind) for x in typed]
