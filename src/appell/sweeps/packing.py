"""A study as bytes for workers that do not have its file: with the user's own modules, by value.

What is installed is named only, and workers must have it. A function under `functools.cache` is sent as the function,
and cached again where it arrives; a pickle would only name it.
"""

from __future__ import annotations

import functools
import hashlib
import io
from collections.abc import Callable
from typing import Any

from appell.errors import SweepError, needed_package
from appell.sweeps.study_content import own_modules


def packed(study: Callable[..., Any]) -> tuple[bytes, str]:
    """The bytes, and their hash."""
    cloudpickle = needed_package("cloudpickle", "a sweep on workers", "appell[clusters]")

    class Packer(cloudpickle.Pickler):  # type: ignore[name-defined,misc]
        def reducer_override(self, thing: Any) -> Any:
            if isinstance(thing, functools._lru_cache_wrapper):
                return cached_again, (thing.__wrapped__, thing.cache_parameters())
            return super().reducer_override(thing)

    modules, content = own_modules(study), io.BytesIO()
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        Packer(content).dump(study)
    except Exception as error:  # whatever the user's objects raise when they are asked for their state
        name = getattr(study, "__name__", "study")
        raise SweepError(
            f"the study '{name}' cannot be sent to workers: {type(error).__name__}: {error}.",
            expected="a function that names nothing open, such as files or locks",
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return content.getvalue(), hashlib.sha256(content.getvalue()).hexdigest()


def cached_again(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


@functools.lru_cache(maxsize=4)
def unpacked(key: str, content: bytes) -> Callable[..., Any]:
    """The study in a worker, the same object for all of its work: what it keeps between jobs is kept."""
    return needed_package("cloudpickle", "a worker", "appell[clusters]").loads(content)
