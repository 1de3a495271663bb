"""The handler alone, called with frames as XLA's header defines them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import appell as ap
from appell.compile.exchange.xla import handler_text
from appell.compile.llvm.operands import formula_axes
from appell.compile.native.machine import Code, assemble, host

size_t, pointer, i64, i32 = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
CreateError = ctypes.CFUNCTYPE(pointer, pointer)


def structure(name: str, **fields) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


Buffer = structure("Buffer", size=size_t, extension=pointer, dtype=i32, data=pointer, rank=i64, dims=pointer)
Side = structure("Side", size=size_t, extension=pointer, count=i64, types=pointer, buffers=pointer)
Attributes = structure(
    "Attributes", size=size_t, extension=pointer, count=i64, types=pointer, names=pointer, all=pointer
)
Frame = structure(
    "Frame",
    size=size_t,
    extension=pointer,
    api=pointer,
    context=pointer,
    stage=i32,
    taken=Side,
    given=Side,
    attributes=Attributes,
    future=pointer,
)
Version = structure("Version", size=size_t, extension=pointer, major=i32, minor=i32)
Metadata = structure("Metadata", size=size_t, version=Version, traits=ctypes.c_uint32)
Extension = structure("Extension", size=size_t, kind=i32, next=pointer, metadata=ctypes.POINTER(Metadata))
Api = structure("Api", size=size_t, extension=pointer, version=Version, internal=pointer, create_error=CreateError)
Problem = structure("Problem", size=size_t, extension=pointer, message=ctypes.c_char_p, code=i32)


class Called:
    """A handler of inverse dynamics, with the problems it reported."""

    def __init__(self):
        self.function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
        self.loop = self.function.loop(np.float64)
        text = handler_text((0, 3), formula_axes(self.function.fused), {}, 8, self.loop.address)
        self.code = Code(assemble(text, host(), "handler"), "handler")
        self.problems: list[Problem] = []
        self.alive: list = []

    def __call__(self, frame) -> int | None:
        def create(problem):
            self.problems.append(Problem.from_address(problem))
            return 4711

        api = Api(ctypes.sizeof(Api), None, Version(), None, CreateError(create))
        frame.api = ctypes.addressof(api)
        return ctypes.CFUNCTYPE(pointer, pointer)(self.code.address)(ctypes.addressof(frame))

    def frame(self, arguments, results):
        sides = []
        for arrays in (arguments, results):
            dims = [(i64 * array.ndim)(*array.shape) for array in arrays]
            buffers = [
                Buffer(48, None, 12, array.ctypes.data, array.ndim, ctypes.addressof(sizes))
                for array, sizes in zip(arrays, dims, strict=True)
            ]
            addresses = (pointer * len(buffers))(*map(ctypes.addressof, buffers))
            self.alive += [dims, buffers, addresses]
            sides.append(Side(40, None, len(buffers), None, ctypes.addressof(addresses)))
        return Frame(size=168, taken=sides[0], given=sides[1], attributes=Attributes(size=48))


@pytest.fixture(scope="module")
def called() -> Called:
    return Called()


def test_the_structures_have_the_sizes_of_the_header():
    assert [ctypes.sizeof(kind) for kind in (Buffer, Side, Attributes)] == [48, 40, 48]
    assert (Frame.taken.offset, Frame.given.offset, Frame.future.offset) == (40, 80, 168)


def test_arguments_that_samples_share_are_not_repeated(called):
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 1, 2)), rng.normal(size=(1, 5, 2)), rng.normal(size=(1, 1, 2))
    results = np.full((3, 5, 2), np.nan)
    assert called(called.frame([q, v, a], [results])) is None
    assert np.array_equal(results, called.function(q, v, a))


def test_an_empty_batch_does_nothing(called):
    assert (
        called(called.frame([np.ones((1, 1, 2)), np.ones((1, 0, 2)), np.ones((1, 1, 2))], [np.ones((1, 0, 2))])) is None
    )


def test_the_handler_reports_its_interface_version(called):
    metadata = Metadata(size=36)
    extension = Extension(32, 1, None, ctypes.pointer(metadata))
    assert called(Frame(size=168, extension=ctypes.addressof(extension))) is None
    version = metadata.version
    assert (version.size, version.major, version.minor, metadata.traits) == (24, 0, 3, 0)


@pytest.mark.parametrize("part", ["frame", "arguments", "results", "buffer"])
def test_structures_of_other_sizes_are_rejected(called, part):
    arrays, results = [np.ones((1, 1, 2)) for _ in range(3)], np.full((1, 1, 2), 7.0)
    frame = called.frame(arrays, [results])
    if part == "frame":
        frame.size = 160
    elif part == "buffer":
        called.alive[-2][0].size = 40
    else:
        (frame.taken if part == "arguments" else frame.given).size = 48
    called.problems.clear()
    assert called(frame) == 4711
    assert len(called.problems) == 1
    assert (results == 7.0).all()
