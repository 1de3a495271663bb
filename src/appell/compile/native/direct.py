"""Direct calls: plain samples and plain batches without NumPy's call overhead.

**One sample.** A generalised ufunc inspects its arguments for about a microsecond, whatever the kernel costs. Most
single calls pass plain float64 vectors of the right shape, which a few comparisons can detect. So a call first enters
machine code (`_CALL`; one for float64, which passes other calls to one for float32 after the first such call) that

    compares type, element type, layout and shape of every argument,
    allocates the result arrays and, if there are several, their named tuple, runs a kernel on one sample, and
    replaces arrays without axes by NumPy scalars, as a ufunc does.

All other calls (a batch, a list, `out=`, another element type, a wrong shape) continue with the batch below, which also
computes one sample with `out`. The bits are the same. One difference: without `out`, floating-point errors are not
checked for one sample, so `numpy.errstate` does not apply.

The kernel for one sample takes the addresses of its arguments and results, as the loop of a ufunc does, and ignores the
other arguments of a loop. On machines with wide registers, and for programs, whose iterations may be vectorised, it
replaces the loop with the first direct call (`SingleLoop`). If it cannot be compiled, the ufunc's loop stays, with the
same bits. A function whose first call is one sample needs no loop: without a ufunc, `direct_call` handles samples only.

**Batches.** The ufunc and the Python code around it take up to three microseconds, as long as a humanoid needs for
twenty samples. The second function (`_BATCH`) handles

    arrays of one type in C order with one batch axis, the same for all arguments, or all without one,
    no keyword but `out`, with such arrays that are writable and overlap no other operand,
    and one thread, the default,

and passes everything else to the ufunc. The GIL is released for longer batches, as NumPy does. Floating-point flags are
cleared before the loop and read after it; if one is raised, the ufunc computes the batch again and reports it as
`numpy.errstate` requires. Reading the flags depends on the processor, so direct batches exist on x86 only.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.llvm.lanes import NARROW_BYTES
from appell.compile.native.bound import builtin
from appell.compile.native.build_lock import BUILD_LOCK
from appell.compile.native.gufunc import KINDS, Loop, array_function, loop_address
from appell.compile.native.kernels import load_kernel, load_text, with_fields
from appell.compile.native.machine import Code, function_address, host
from appell.compile.native.threads import THREAD_COUNT
from appell.compile.results import results_type
from appell.compile.tape.formula import Formula
from appell.compile.tape.tape import Tape
from appell.errors import CompileError


def has_sample_kernel(formula: Formula) -> bool:
    """Return whether a kernel for one sample is faster than the ufunc's loop."""
    return host().register != NARROW_BYTES or not isinstance(formula, Tape)


def is_plain_sample(arguments: Sequence[object], formula: Formula) -> bool:
    """Return whether a direct call computes these arguments as one sample."""
    return len(arguments) == len(formula.inputs) and all(
        type(value) is np.ndarray
        and value.dtype is _FLOAT64
        and value.shape == array.shape
        and value.flags.c_contiguous
        and value.flags.aligned
        for value, array in zip(arguments, formula.inputs, strict=True)
    )


class SingleLoop:
    """Placeholder of the single-sample kernel in a plan; the first call compiles the kernel and replaces the entry."""

    def __init__(self, formula: Formula, wide: int, dtype: DTypeLike):
        self._formula, self._wide, self._dtype = formula, wide, dtype
        self._code: Code | None = None
        self._first_call = Loop(self._make)
        self._plan: np.ndarray | None = None
        self._entry = 0

    @property
    def address(self) -> int:
        """Address of the placeholder, or of the ufunc's loop where a kernel for one sample is not faster."""
        if not has_sample_kernel(self._formula):
            return self._wide
        return ctypes.cast(self._first_call, ctypes.c_void_p).value or 0

    def set_plan(self, plan: np.ndarray, entry: int) -> None:
        """Set the plan and the entry that holds the address of the loop."""
        self._plan, self._entry = plan, entry

    def _make(self, args, dims, steps, data) -> None:
        with BUILD_LOCK:
            address = self._wide
            if self._code is None:
                with contextlib.suppress(CompileError):
                    self._code = load_kernel(self._formula, self._dtype, "single")
            if self._code is not None:
                address = self._code.address
            if self._plan is not None:
                self._plan[self._entry] = address
        Loop(address)(args, dims, steps, data)


_FLOAT64 = np.dtype(np.float64)
_NO_THREADS = np.zeros(1, THREAD_COUNT.cell.dtype)  # in place of the number of threads: no batch is computed directly
_ERROR_FLAGS = 0x1D  # bits of the status register: invalid, division by zero, overflow, underflow, but not inexact
_CLEARED_FLAGS = ~0x3F  # mask that clears all flags of the status register
_ONE_SAMPLE = -1  # returned by @samples for an array without a batch axis
_MIN_UNLOCKED_SAMPLES = 16  # from this number on, the GIL is released
_PLAIN_ARRAY = 0x101  # flags of an array: C-contiguous and aligned
_WRITABLE_ARRAY = 0x501  # and writable
_METH_FASTCALL_KEYWORDS = 0x82
_PYARRAY_EMPTY, _PYARRAY_RETURN = 184, 76  # in the table of NumPy 1 and 2
_MAX_OPERANDS = 32
_MAX_AXES = 65  # NumPy allows 64, and a batch has one more

# The plan: addresses and counts that the machine code reads, in this order, followed by one shape per operand.
_OBJECTS = ("ndarray", "format", "tuple", "results", "out_name", "empty", "incref", "decref", "allocate", "vectorcall")
_PLAN = (*_OBJECTS, "unwrap", "save", "restore", "threads", "loop", "wide", "dims", "steps", "ins", "outs")

# Fragments of both functions, expanded by `with_fields`.
# A plain array: type, element type, flags and number of axes (%depth) of an object.
_CHECK_ARRAY = """\
  %type = field ptr, {object}, 8
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %look, label %{rejected}
look:
  %descr = field ptr, {object}, {descr}
  %is.format = icmp eq ptr %descr, %format
  %flags = field i32, {object}, {flags}
  %layout = and i32 %flags, {required}
  %is.plain = icmp eq i32 %layout, {required}
  %nd = field i32, {object}, {nd}
  %axes = zext i32 %nd to i64
{depth}
  %is.deep = icmp eq i64 %axes, %depth
  %like = and i1 %is.format, %is.plain
  %fits = and i1 %like, %is.deep
  br i1 %fits, label %measure, label %{rejected}
measure:
  %sizes = field ptr, {object}, {sizes}
  br label %axis"""

# A named tuple for several results, and the loop over results up to the shape of one.
_BEGIN_RESULT = """\
pack:
  %packed = call ptr %allocate(ptr %results, i64 %outs)
  %no.tuple = icmp eq ptr %packed, null
  br i1 %no.tuple, label %failed, label %make
make:
  %j = phi i64 [ 0, %{before} ], [ 0, %pack ], [ %j.next, %kept ]
  %holder = phi ptr [ null, %{before} ], [ %packed, %pack ], [ %holder, %kept ]
  %number = add i64 %j, %ins
  %result.shape = element ptr, %shapes, %number"""

# The end of that loop: the address of the data of a new array %result, and the array itself in the tuple.
_END_RESULT = """\
  %no.array = icmp eq ptr %result, null
  br i1 %no.array, label %drop, label %made
made:
  %memory = field ptr, %result, {data}
  %filled.at = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %memory, ptr %filled.at, align 8
  br i1 %several, label %keep, label %run
keep:
  %holder.first = getelementptr i8, ptr %holder, i64 {items}
  %item.at = getelementptr ptr, ptr %holder.first, i64 %j
  store ptr %result, ptr %item.at, align 8
  br label %kept
kept:
  %j.next = add i64 %j, 1
  %another = icmp ult i64 %j.next, %outs
  br i1 %another, label %make, label %run"""

# A result could not be allocated.
_RELEASE_RESULTS = """\
drop:
  br i1 %several, label %release, label %failed
release:
  call void %decref(ptr %holder)
  br label %failed
failed:
  ret ptr null"""

_BATCH = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i64 @samples(ptr %object, ptr %shape, ptr %ndarray, ptr %format, i32 %required) noinline nounwind {{
entry:
{check_samples}
axis:
  %k = phi i64 [ 0, %measure ], [ %k.next, %compare ]
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k, %core
  br i1 %more, label %compare, label %yes
compare:
  %position = select i1 %is.sample, i64 %k, i64 %k.next
  %size = element i64, %sizes, %position
  %expected = element i64, %shape, %k.next
  %equal = icmp eq i64 %size, %expected
  br i1 %equal, label %axis, label %no
yes:
  br i1 %is.sample, label %sample, label %many
sample:
  ret i64 {one_sample}
many:
  %count = load i64, ptr %sizes, align 8
  ret i64 %count
no:
  ret i64 0
}}

define internal ptr @batch(ptr %plan, ptr %slow, ptr %args, i64 %given, ptr %keywords) noinline nounwind {{
entry:
  %pointers = alloca [{max_operands} x ptr], align 8
  %lengths = alloca [{max_axes} x i64], align 8
  %before = alloca i32, align 4
  %clear = alloca i32, align 4
  %after = alloca i32, align 4
  {fields}
  %shapes = getelementptr i8, ptr %plan, i64 {shapes}
  %complete = icmp eq i64 %given, %ins
  %thread.count = load i64, ptr %threads, align 8
  %alone = icmp eq i64 %thread.count, 1
  %candidate = and i1 %complete, %alone
  br i1 %candidate, label %words, label %other
words:
  %bare = icmp eq ptr %keywords, null
  br i1 %bare, label %begin, label %keyed
keyed:
  %word.count = field i64, %keywords, {length}
  %is.single = icmp eq i64 %word.count, 1
  br i1 %is.single, label %word, label %other
word:
  %name = field ptr, %keywords, {items}
  %is.out = icmp eq ptr %name, %out_name
  br i1 %is.out, label %directed, label %other
directed:
  %value = element ptr, %args, %ins
  %kind = field ptr, %value, 8
  %is.plain.tuple = icmp eq ptr %kind, %tuple
  %is.named.tuple = icmp eq ptr %kind, %results
  %is.tuple = or i1 %is.plain.tuple, %is.named.tuple
  br i1 %is.tuple, label %listed, label %lone
listed:
  %listed.count = field i64, %value, {length}
  %is.complete = icmp eq i64 %listed.count, %outs
  %listed.first = getelementptr i8, ptr %value, i64 {items}
  br i1 %is.complete, label %begin, label %other
lone:
  %is.only = icmp eq i64 %outs, 1
  br i1 %is.only, label %begin, label %other

begin:
  %targets = phi ptr [ null, %words ], [ %listed.first, %listed ], [ %value.at, %lone ]
  %first = load ptr, ptr %args, align 8
  %first.shape = load ptr, ptr %shapes, align 8
  %count = call i64 @samples(ptr %first, ptr %first.shape, ptr %ndarray, ptr %format, i32 {plain})
  %is.sample = icmp eq i64 %count, {one_sample}
  %amount = select i1 %is.sample, i64 1, i64 %count
  %new = icmp eq ptr %targets, null
  %is.new.sample = and i1 %is.sample, %new
  %left.over = select i1 %is.new.sample, i64 0, i64 %count
  %is.some = icmp ne i64 %left.over, 0
  %directed.count = select i1 %new, i64 0, i64 %outs
  %all = add i64 %ins, %directed.count
  br i1 %is.some, label %operand, label %other
operand:
  %i = phi i64 [ 0, %begin ], [ %i.next, %apart ]
  %is.input = icmp ult i64 %i, %ins
  %beyond = sub i64 %i, %ins
  %input.at = getelementptr ptr, ptr %args, i64 %i
  %target.at = getelementptr ptr, ptr %targets, i64 %beyond
  %object.at = select i1 %is.input, ptr %input.at, ptr %target.at
  %object = load ptr, ptr %object.at, align 8
  %required = select i1 %is.input, i32 {plain}, i32 {writable}
  %shape = element ptr, %shapes, %i
  %samples = call i64 @samples(ptr %object, ptr %shape, ptr %ndarray, ptr %format, i32 %required)
  %is.same = icmp eq i64 %samples, %count
  br i1 %is.same, label %accepted, label %other
accepted:
  %content = field ptr, %object, {data}
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %content, ptr %pointer.at, align 8
  %step = element i64, %steps, %i
  %bytes = mul i64 %step, %amount
  %end = getelementptr i8, ptr %content, i64 %bytes
  %others = select i1 %is.input, i64 0, i64 %i
  br label %against
against:
  %m = phi i64 [ 0, %accepted ], [ %m.next, %meet ]
  %any = icmp ult i64 %m, %others
  br i1 %any, label %meet, label %apart
meet:
  %m.next = add i64 %m, 1
  %rival = element ptr, %pointers, %m
  %rival.step = element i64, %steps, %m
  %rival.bytes = mul i64 %rival.step, %amount
  %rival.end = getelementptr i8, ptr %rival, i64 %rival.bytes
  %ends.before = icmp ule ptr %end, %rival
  %starts.after = icmp uge ptr %content, %rival.end
  %is.apart = or i1 %ends.before, %starts.after
  br i1 %is.apart, label %against, label %other
apart:
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %all
  br i1 %again, label %operand, label %prepare

prepare:
  %several = icmp ugt i64 %outs, 1
  br i1 %new, label %fresh, label %hold
hold:
  br i1 %several, label %wrap, label %lend
lend:
  %single = load ptr, ptr %targets, align 8
  call void %incref(ptr %single)
  br label %run
wrap:
  %named = call ptr %allocate(ptr %results, i64 %outs)
  %not.named = icmp eq ptr %named, null
  br i1 %not.named, label %failed, label %share
share:
  %n = phi i64 [ 0, %wrap ], [ %n.next, %share ]
  %shared = element ptr, %targets, %n
  call void %incref(ptr %shared)
  %named.first = getelementptr i8, ptr %named, i64 {items}
  %named.at = getelementptr ptr, ptr %named.first, i64 %n
  store ptr %shared, ptr %named.at, align 8
  %n.next = add i64 %n, 1
  %any.left = icmp ult i64 %n.next, %outs
  br i1 %any.left, label %share, label %run
fresh:
  br i1 %several, label %pack, label %make
{begin_result_of_batch}
  %result.core = load i64, ptr %result.shape, align 8
  store i64 %count, ptr %lengths, align 8
  br label %length
length:
  %a = phi i64 [ 0, %make ], [ %a.next, %copy ]
  %a.next = add i64 %a, 1
  %lacks = icmp ult i64 %a, %result.core
  br i1 %lacks, label %copy, label %measured
copy:
  %known = element i64, %result.shape, %a.next
  %to = getelementptr i64, ptr %lengths, i64 %a.next
  store i64 %known, ptr %to, align 8
  br label %length
measured:
  %result.nd = trunc i64 %a.next to i32
  call void %incref(ptr %format)
  %result = call ptr %empty(i32 %result.nd, ptr %lengths, ptr %format, i32 0)
{end_result}
{release_results}

run:
  %answer = phi ptr [ %single, %lend ], [ %named, %share ], [ %result, %made ], [ %holder, %kept ]
  %kernel = select i1 %is.sample, ptr %loop, ptr %wide
  store i64 %amount, ptr %lengths, align 8
  call void @llvm.x86.sse.stmxcsr(ptr %before)
  %status = load i32, ptr %before, align 4
  %cleared = and i32 %status, {cleared_flags}
  store i32 %cleared, ptr %clear, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %clear)
  %is.long = icmp uge i64 %amount, {min_unlocked_samples}
  br i1 %is.long, label %unlocked, label %locked
locked:
  call void %kernel(ptr %pointers, ptr %lengths, ptr %steps, ptr null)
  br label %ran
unlocked:
  %thread = call ptr %save()
  call void %wide(ptr %pointers, ptr %lengths, ptr %steps, ptr null)
  call void %restore(ptr %thread)
  br label %ran
ran:
  call void @llvm.x86.sse.stmxcsr(ptr %after)
  call void @llvm.x86.sse.ldmxcsr(ptr %before)
  %raised = load i32, ptr %after, align 4
  %errors = and i32 %raised, {error_flags}
  %is.clean = icmp eq i32 %errors, 0
  br i1 %is.clean, label %done, label %redo
done:
  ret ptr %answer
redo:
  call void %decref(ptr %answer)
  br label %other
other:
  %passed = call ptr %vectorcall(ptr %slow, ptr %args, i64 %given, ptr %keywords)
  ret ptr %passed
}}
"""

_NO_BATCH = """
define internal ptr @batch(ptr %plan, ptr %slow, ptr %args, i64 %given, ptr %keywords) noinline nounwind {{
  {fields}
  %passed = call ptr %vectorcall(ptr %slow, ptr %args, i64 %given, ptr %keywords)
  ret ptr %passed
}}
"""

_CALL = """
define ptr @call(ptr %self, ptr %args, i64 %given, ptr %keywords) nounwind {{
entry:
  %pointers = alloca [{max_operands} x ptr], align 8
  %slow = field ptr, %self, {items}
  %array = field ptr, %slow.at, 8
  %plan = field ptr, %array, {data}
  {fields}
  %shapes = getelementptr i8, ptr %plan, i64 {shapes}
  %unnamed = icmp eq ptr %keywords, null
  %complete = icmp eq i64 %given, %ins
  %candidate = and i1 %unnamed, %complete
  br i1 %candidate, label %check, label %other

check:
  %i = phi i64 [ 0, %entry ], [ %i.next, %checked ]
  %argument = element ptr, %args, %i
{check_argument}
axis:
  %k = phi i64 [ 0, %measure ], [ %k.next, %same ]
  %more = icmp ult i64 %k, %axes
  br i1 %more, label %compare, label %checked
compare:
  %k.next = add i64 %k, 1
  %size = element i64, %sizes, %k
  %expected = element i64, %shape, %k.next
  %equal = icmp eq i64 %size, %expected
  br i1 %equal, label %same, label %other
same:
  br label %axis
checked:
  %content = field ptr, %argument, {data}
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %content, ptr %pointer.at, align 8
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %ins
  br i1 %again, label %check, label %prepare

prepare:
  %several = icmp ugt i64 %outs, 1
  br i1 %several, label %pack, label %make
{begin_result_of_sample}
  %result.axes = load i64, ptr %result.shape, align 8
  %result.nd = trunc i64 %result.axes to i32
  %result.sizes = getelementptr i64, ptr %result.shape, i64 1
  call void %incref(ptr %format)
  %result = call ptr %empty(i32 %result.nd, ptr %result.sizes, ptr %format, i32 0)
{end_result}

run:
  %answer = phi ptr [ %result, %made ], [ %holder, %kept ]
  call void %loop(ptr %pointers, ptr %dims, ptr %steps, ptr null)
  br i1 %several, label %convert, label %only
only:
  %unwrapped = call ptr %unwrap(ptr %answer)
  ret ptr %unwrapped
convert:
  %c = phi i64 [ 0, %run ], [ %c.next, %converted ]
  %cells = getelementptr i8, ptr %answer, i64 {items}
  %cell = getelementptr ptr, ptr %cells, i64 %c
  %array.result = load ptr, ptr %cell, align 8
  %scalar.result = call ptr %unwrap(ptr %array.result)
  store ptr %scalar.result, ptr %cell, align 8
  %no.scalar = icmp eq ptr %scalar.result, null
  br i1 %no.scalar, label %lost, label %converted
converted:
  %c.next = add i64 %c, 1
  %unconverted = icmp ult i64 %c.next, %outs
  br i1 %unconverted, label %convert, label %complete.answer
complete.answer:
  ret ptr %answer
lost:
  call void %decref(ptr %answer)
  ret ptr null

{release_results}

other:
  %passed = call ptr @batch(ptr %plan, ptr %slow, ptr %args, i64 %given, ptr %keywords)
  ret ptr %passed
}}
"""

_DEPTH_OF_BATCH = """\
  %core = load i64, ptr %shape, align 8
  %is.sample = icmp eq i64 %axes, %core
  %core.next = add i64 %core, 1
  %depth = select i1 %is.sample, i64 %core, i64 %core.next"""

_DEPTH_OF_SAMPLE = """\
  %shape = element ptr, %shapes, %i
  %depth = load i64, ptr %shape, align 8"""


def direct_call(
    formula: Formula,
    ufunc: np.ufunc | None,
    otherwise: Callable,
    kernel: Code | None = None,
    dtype: DTypeLike = np.float64,
) -> Callable | None:
    """Return a built-in function that computes plain samples and batches and passes all other calls to `otherwise`.

    Return None where this is not possible: a Python without the global interpreter lock has another object layout.

    Parameters
    ----------
    formula : fused formula
    ufunc : its ufunc, with the loop for `dtype` loaded; without it, batches are passed to `otherwise`
    otherwise : called for all other calls
    kernel : code for one sample; required without a ufunc, otherwise compiled by the first call with one sample
    dtype : float64 or float32, the type of all arrays
    """
    arrays = (*formula.inputs, *formula.outputs)
    if len(arrays) > _MAX_OPERANDS or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    shapes = [np.array([len(array.shape), *array.shape], dtype=np.intp) for array in arrays]
    dims = np.array([1, *(size for array in arrays for size in array.shape)], dtype=np.intp)
    kind = np.dtype(dtype)
    strides = [kind.itemsize * prod(array.shape[axis + 1 :]) for array in arrays for axis in range(len(array.shape))]
    steps = np.array([*(kind.itemsize * array.size for array in arrays), *strides], dtype=np.intp)
    python = ctypes.pythonapi
    wide = 0 if ufunc is None else loop_address(ufunc, KINDS.index(kind))
    loop, results = kernel or SingleLoop(formula, wide, kind), results_type(formula.name, formula.outputs) or tuple
    thread_count = _NO_THREADS if ufunc is None else THREAD_COUNT.cell
    entries = {
        "ndarray": id(np.ndarray),
        "format": id(kind),
        "tuple": id(tuple),
        "results": id(results),
        "out_name": id(sys.intern("out")),
        "empty": array_function(_PYARRAY_EMPTY),
        "unwrap": array_function(_PYARRAY_RETURN),
        "incref": function_address(python.Py_IncRef),
        "decref": function_address(python.Py_DecRef),
        "allocate": function_address(python.PyType_GenericAlloc),
        "vectorcall": function_address(python.PyObject_Vectorcall),
        "save": function_address(python.PyEval_SaveThread),
        "restore": function_address(python.PyEval_RestoreThread),
        "threads": thread_count.ctypes.data,
        "loop": loop.address,
        "wide": wide,
        "dims": dims.ctypes.data,
        "steps": steps.ctypes.data,
        "ins": len(formula.inputs),
        "outs": len(formula.outputs),
    }
    plan = np.array([*(entries[name] for name in _PLAN), *(shape.ctypes.data for shape in shapes)], dtype=np.uintp)
    if isinstance(loop, SingleLoop):
        loop.set_plan(plan, _PLAN.index("loop"))
    code = _code()
    items = (otherwise, plan, code, ufunc, loop, results, dims, steps, thread_count, *shapes)
    return builtin(formula.name, code.address, _METH_FASTCALL_KEYWORDS, items)


@cache
def _code() -> Code:
    head = object.__basicsize__  # followed by the fields of an array: data, nd, sizes, strides, base, descr, flags
    fields = []
    for number, name in enumerate(_PLAN):
        kind = "i64" if name in ("ins", "outs") else "ptr"
        fields.append(f"%{name} = field {kind}, %plan, {8 * number}")
    words: dict[str, int | str] = {
        "max_operands": _MAX_OPERANDS,
        "max_axes": _MAX_AXES,
        "items": tuple.__basicsize__,
        "length": head,
        "data": head,
        "nd": head + 8,
        "sizes": head + 16,
        "descr": head + 40,
        "flags": head + 48,
        "plain": _PLAIN_ARRAY,
        "writable": _WRITABLE_ARRAY,
        "cleared_flags": _CLEARED_FLAGS,
        "error_flags": _ERROR_FLAGS,
        "min_unlocked_samples": _MIN_UNLOCKED_SAMPLES,
        "one_sample": _ONE_SAMPLE,
        "fields": "\n  ".join(fields),
        "shapes": 8 * len(_PLAN),
    }
    sample, batch = {"rejected": "other", "required": _PLAIN_ARRAY}, {"rejected": "no", "required": "%required"}
    words |= {
        "check_argument": _CHECK_ARRAY.format(object="%argument", depth=_DEPTH_OF_SAMPLE, **sample, **words),
        "check_samples": _CHECK_ARRAY.format(object="%object", depth=_DEPTH_OF_BATCH, **batch, **words),
        "begin_result_of_sample": _BEGIN_RESULT.format(before="prepare"),
        "begin_result_of_batch": _BEGIN_RESULT.format(before="fresh"),
        "end_result": _END_RESULT.format(**words),
        "release_results": _RELEASE_RESULTS,
    }
    batch_text = _BATCH if host().triple.startswith("x86_64") else _NO_BATCH
    return load_text(with_fields(_CALL.format(**words) + batch_text.format(**words)), "call", "direct call")
