"""Loaded code moves to contiguous pages without another address, content or permission."""

import ctypes
import os
import platform
import sys

import numpy as np
import pytest

import appell as ap
from appell.compile.llvm.kernel import loop_kernel
from appell.compile.llvm.lanes import Form
from appell.compile.native import contiguous, machine
from appell.compile.native.machine import Code, assemble, host, unpack_image
from compile.llvm.tapes import random_tape

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and platform.machine() == "x86_64"), reason="code is moved on Linux and x86 only"
)


def mappings():
    """Return start, end and permissions of all mappings of this process."""
    with open("/proc/self/maps", encoding="utf-8") as lines:
        words = [line.split() for line in lines]
    return [(*(int(bound, 16) for bound in span.split("-")), permissions) for span, permissions, *_ in words]


def permissions_at(address):
    return next((permissions for start, end, permissions in mappings() if start <= address < end), None)


@pytest.fixture(scope="module")
def image():
    return assemble(loop_kernel(random_tape(3, 2000), Form(chunk=300, fused=host().has_fma)), host(), "mine")


def loaded(image, moved):
    """Load code; return it with its content and the huge-page memory that was taken for it."""
    taken = []

    class Recorded(contiguous._HugePage):
        def take(self, size):
            taken.append((super().take(size), size))
            return taken[-1][0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contiguous, "_huge_page", Recorded())
        if not moved:
            patch.setattr(machine, "make_contiguous", lambda parts, starts: None)
        code = Code(image, "loop")
    return code, taken


def test_code_moves_and_keeps_its_address_content_and_permissions(image):
    size = sum(contiguous.code_bytes(part) for part in unpack_image(image)[0])
    still, _ = loaded(image, moved=False)
    code, taken = loaded(image, moved=True)
    assert size > 20_000
    assert sum(size for _, size in taken) >= size
    for address, _ in taken:
        assert address % (2 << 20) == 0
        assert permissions_at(address) is None  # its pages are now at the address of the code
    assert permissions_at(code.address) == "r-xp"
    start = still._tracker["part0"], code._tracker["part0"]
    contents = [ctypes.string_at(at, contiguous.code_bytes(unpack_image(image)[0][0])) for at in start]
    assert contents[0][:4096] == contents[1][:4096]


def test_code_that_cannot_be_moved_stays(image, monkeypatch):
    monkeypatch.setattr(contiguous, "_new_huge_pages", lambda size: 0)
    code, taken = loaded(image, moved=True)
    assert [address for address, _ in taken] == [0]
    assert permissions_at(code.address) == "r-xp"


def test_code_larger_than_a_huge_page_has_several():
    huge = contiguous._HugePage()
    address = huge.take(5 << 20)
    assert address % (2 << 20) == 0
    assert permissions_at(address + (5 << 20) - 1) == "rw-p"
    assert huge.take(1 << 20) == address + (5 << 20)  # the rest of the third page


def test_a_forked_process_loads_code_of_its_own():
    robot, q = ap.load("puma"), np.zeros(6)
    ap.Dynamics(robot).gravity(q)
    process = os.fork()
    if process == 0:
        torques = ap.Dynamics(robot).mass_matrix(q)
        os._exit(int(not np.isfinite(torques).all()))
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
