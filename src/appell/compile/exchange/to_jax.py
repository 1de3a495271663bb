"""Functions of JAX arrays: XLA calls the compiled kernel, with derivatives of any order.

    tau = dyn.inverse_dynamics.to_jax()
    tau(q, v, a)                                  the same arguments, by position or by name; leading axes are batches
    jax.jit, jax.vmap, jax.grad, jax.jacfwd, jax.jacrev, jax.hessian, jax.lax.scan, ...
    scan.to_jax()                                 a scan: all steps in one kernel, the backward pass in another

On the CPU, XLA calls the kernel of the function, and for derivatives the kernels of its derivatives. On any other
device, or with `native=False`, the same tapes are evaluated in JAX's own operations.

The number format follows the rules of JAX: float64 if `jax_enable_x64` is set and an argument is float64, otherwise
float32. Integers become floats. Derivatives are with respect to the elements of each argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from appell.compile.arguments import call_signature, common_batch, in_order
from appell.compile.exchange.differentiable import DifferentiableFunction, DifferentiableScan
from appell.compile.native.build_lock import LOG
from appell.compile.scan import Scan
from appell.errors import ArgumentError, CompileError, needed_package

if TYPE_CHECKING:
    from appell.compile.function import Function


class JaxFunction:
    """A function or scan of JAX arrays; a scan returns the results of all steps.

    Parameters
    ----------
    function : function or scan
    native : whether the CPU runs the compiled kernel
    """

    def __init__(self, function: Function | Scan, native: bool):
        import jax

        self.function, self.native = function, native
        self.__name__ = function.name
        self.__doc__ = function.__doc__
        self.__signature__ = call_signature(function.inputs)
        self._jitted = jax.jit(self._called)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._jitted(*self._ordered(arguments, named))

    def __repr__(self) -> str:
        return f"<JAX {'kernel' if self.native else 'operations'} of {self.function!r}>"

    def __reduce__(self):
        return JaxFunction, (self.function, self.native)

    def _ordered(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        if isinstance(self.function, Scan):
            return self.function.arguments.in_order(arguments, named)
        return in_order(self.function.title, self.function.inputs, arguments, named)

    def _called(self, *arguments: Any) -> Any:
        import jax.numpy as jnp

        from appell.compile.exchange.jax_primitives import call, scan

        function, arrays = self.function, [jnp.asarray(x) for x in arguments]
        if isinstance(function, Scan):
            batches = function.arguments.batches(arrays)
            rank = max(map(len, batches))
            aligned = _aligned(function.title, arrays, [rank - len(batch) for batch in batches])
            return _one_or_tuple(scan(DifferentiableScan(function), self.native, *aligned))
        rank = len(common_batch(function.title, function.inputs, [x.shape for x in arrays]))
        missing = [rank + len(array.shape) - x.ndim for x, array in zip(arrays, function.inputs, strict=True)]
        aligned = _aligned(function.title, arrays, missing)
        return _one_or_tuple(call(DifferentiableFunction(function), self.native, *aligned))


def _one_or_tuple(results: Sequence[Any]) -> Any:
    """Return several results as a plain tuple: loops of JAX require the same type of container in every step."""
    return results[0] if len(results) == 1 else tuple(results)


def jax_function(function: Function | Scan, native: bool | None = None) -> JaxFunction:
    """Return a function or scan for JAX that runs the kernel if possible (None), always (True) or never (False)."""
    return JaxFunction(function, _by_kernel(function.title, native))


def _by_kernel(title: str, native: bool | None) -> bool:
    """Return whether to run the kernel in JAX; raise an error if `native` is True and it cannot run."""
    needed_package("jax", "to_jax", "appell[jax]")
    from appell.compile.exchange.xla import interface

    _, problem = interface()
    if problem and native:
        raise CompileError(
            f"the compiled kernel of {title} cannot run in JAX: {problem}.",
            hint="Pass native=False to use JAX operations.",
        )
    if problem and native is None:
        LOG.warning("%s runs with JAX's own operations, which are slower: %s", title, problem)
    return not problem if native is None else native


def _aligned(title: str, arrays: Sequence[Any], missing: Sequence[int]) -> list[Any]:
    """Return arrays of one type by JAX's rules, each with `missing` batch axes of length 1 in front."""
    import jax.numpy as jnp

    kind = jnp.result_type(*arrays)
    if kind.kind in "iub":
        kind = jnp.result_type(float)
    if kind not in (jnp.float32, jnp.float64):
        raise ArgumentError(f"{title} is called with numbers of type {kind}.", expected="float32 or float64")
    return [x.astype(kind).reshape((1,) * count + x.shape) for x, count in zip(arrays, missing, strict=True)]
