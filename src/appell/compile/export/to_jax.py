"""A function of JAX arrays: the compiled kernel inside XLA, with derivatives of any order.

    tau = dyn.inverse_dynamics.to_jax()
    tau(q, v, a)                                  the same arguments, by position or by name; leading axes are batches
    jax.jit, jax.vmap, jax.grad, jax.jacfwd, jax.jacrev, jax.hessian, jax.lax.scan, ...
    march.to_jax()                                a whole march: all steps in one kernel, all steps back in another

On the processor XLA calls the kernel of the function, and for derivatives the kernels of its derivatives. On any other
device, or with `native=False`, the tapes of the same are played in JAX's own operations.

Numbers are those of JAX: float64 where `jax_enable_x64` is set and an argument has it, else float32, which JAX makes of
any array without it. Whole numbers become floats. Derivatives are along the plain numbers of each argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appell.compile.arguments import title
from appell.compile.export.calls import batch_of, call_signature, handed_over, in_order
from appell.compile.export.derivable import Derivable
from appell.compile.export.derivable_march import DerivableMarch
from appell.compile.native.making import LOG
from appell.errors import ArgumentError, CompileError, needed_package

if TYPE_CHECKING:
    from appell.compile.function import Function
    from appell.compile.marching.march import March


class JaxFunction:
    """A function of JAX arrays. `native` says whether the processor runs the compiled kernel."""

    def __init__(self, function: Function, native: bool):
        import jax

        self.function, self.native = function, native
        self.__name__ = function.name
        self.__doc__ = function.__doc__
        self.__signature__ = call_signature(function)
        self._of = Derivable(function)
        self._jitted = jax.jit(self._called)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._jitted(*in_order(self.function, arguments, named))

    def __repr__(self) -> str:
        return f"<{'kernel' if self.native else 'operations'} in JAX of {self.function!r}>"

    def __reduce__(self):
        return JaxFunction, (self.function, self.native)

    def _called(self, *arguments: Any) -> Any:
        import jax.numpy as jnp

        from appell.compile.export.xla.primitive import call

        arrays = [jnp.asarray(x) for x in arguments]
        rank = len(batch_of(self.function, [x.shape for x in arrays]))
        missing = [rank + len(array.shape) - x.ndim for x, array in zip(arrays, self.function.inputs, strict=True)]
        whose = title(self.function.name, self.function.owner)
        return handed_over(call(self._of, self.native, *_aligned(whose, arrays, missing)))


class JaxMarch:
    """A march of JAX arrays: all steps are told, forward in one kernel and backward in another."""

    def __init__(self, march: March, native: bool):
        import jax

        self.march, self.native = march, native
        self.__name__ = march.name
        self.__doc__ = march.__doc__
        self._of = DerivableMarch(march)
        self._jitted = jax.jit(self._called)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._jitted(*self.march.horizon.arguments(arguments, named))

    def __repr__(self) -> str:
        return f"<{'kernel' if self.native else 'operations'} in JAX of {self.march!r}>"

    def __reduce__(self):
        return JaxMarch, (self.march, self.native)

    def _called(self, *arguments: Any) -> Any:
        import jax.numpy as jnp

        from appell.compile.export.xla.march_primitive import marched

        arrays = [jnp.asarray(x) for x in arguments]
        batches = self.march.horizon.batches(arrays)
        rank = max(map(len, batches))
        missing = [rank - len(batch) for batch in batches]
        return handed_over(marched(self._of, self.native, *_aligned(self.march.horizon.title, arrays, missing)))


def jax_function(function: Function, native: bool | None = None) -> JaxFunction:
    """A function for JAX: by its kernel if that can be (None), by its kernel or not at all (True), without (False)."""
    return JaxFunction(function, _by_kernel(title(function.name, function.owner), native))


def jax_march(march: March, native: bool | None = None) -> JaxMarch:
    """A march for JAX, as a function is."""
    return JaxMarch(march, _by_kernel(march.horizon.title, native))


def _by_kernel(whose: str, native: bool | None) -> bool:
    """Whether a kernel runs in JAX, if that is wanted (True), not wanted (False), or left open."""
    needed_package("jax", "to_jax", "appell[jax]")
    from appell.compile.export.xla.target import interface

    _, problem = interface()
    if problem and native:
        raise CompileError(f"{whose} cannot run in JAX as it is compiled: {problem}.")
    if problem and native is None:
        LOG.warning("%s runs in JAX's own operations: %s", whose, problem)
    return not problem if native is None else native


def _aligned(whose: str, arrays: Sequence[Any], missing: Sequence[int]) -> list[Any]:
    """Arrays of one type, each with so many batch axes of length 1 in front."""
    kind = _kind(whose, arrays)
    return [x.astype(kind).reshape((1,) * count + x.shape) for x, count in zip(arrays, missing, strict=True)]


def _kind(whose: str, arrays: Sequence[Any]) -> Any:
    """The type in which arguments meet, by JAX's rules; whole numbers become JAX's floats."""
    import jax.numpy as jnp

    kind = jnp.result_type(*arrays)
    if kind.kind in "iub":
        kind = jnp.result_type(float)
    if kind not in (jnp.float32, jnp.float64):
        raise ArgumentError(f"{whose} is called in {kind}.", expected="float32, float64")
    return kind
