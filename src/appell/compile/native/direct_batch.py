"""A plain batch without NumPy's machinery: rows of float64, one after the other, as most batches are.

A ufunc looks at a call for one or two microseconds, and the Python around it for another one: what a humanoid needs for
twenty samples. So what is not one plain sample (`direct`) enters a second function of machine code, which takes

    arrays of float64 in C order with one axis of samples, the same for all arguments,
    no keyword but `out`, with such arrays that can be written and lie apart from all others,
    and one thread, which is what holds if nobody said otherwise

and hands anything else to the ufunc. Python's lock is let go while a longer batch is computed, as NumPy does. Errors of
arithmetic are NumPy's affair: flags are cleared before and looked at after the loop, and if one is raised the ufunc
computes the batch again and says what `numpy.errstate` wants. Reading the flags is the business of a processor, so that
there is no direct batch but on x86.
"""

from __future__ import annotations

from collections.abc import Mapping

_FLAGS = 0x1D  # of the status register: invalid, division by zero, overflow and underflow, but not inexact
_KEPT = ~0x3F  # the status register without any flags
_RELEASE = 16  # samples from which on Python's lock is let go
_WRITABLE = 0x400

BATCH = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i64 @samples(ptr %object, ptr %shape, ptr %ndarray, ptr %float64, i32 %asked) noinline nounwind {{
entry:
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at, align 8
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %look, label %no
look:
  %descr.at = getelementptr i8, ptr %object, i64 {descr}
  %descr = load ptr, ptr %descr.at, align 8
  %is.float64 = icmp eq ptr %descr, %float64
  %flags.at = getelementptr i8, ptr %object, i64 {flags}
  %flags = load i32, ptr %flags.at, align 4
  %layout = and i32 %flags, %asked
  %is.plain = icmp eq i32 %layout, %asked
  %nd.at = getelementptr i8, ptr %object, i64 {nd}
  %nd = load i32, ptr %nd.at, align 4
  %axes = zext i32 %nd to i64
  %core = load i64, ptr %shape, align 8
  %deep = add i64 %core, 1
  %is.deep = icmp eq i64 %axes, %deep
  %like = and i1 %is.float64, %is.plain
  %fits = and i1 %like, %is.deep
  br i1 %fits, label %measure, label %no
measure:
  %sizes.at = getelementptr i8, ptr %object, i64 {sizes}
  %sizes = load ptr, ptr %sizes.at, align 8
  br label %axis
axis:
  %k = phi i64 [ 0, %measure ], [ %k.next, %compare ]
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k, %core
  br i1 %more, label %compare, label %yes
compare:
  %size.at = getelementptr i64, ptr %sizes, i64 %k.next
  %size = load i64, ptr %size.at, align 8
  %wanted.at = getelementptr i64, ptr %shape, i64 %k.next
  %wanted = load i64, ptr %wanted.at, align 8
  %equal = icmp eq i64 %size, %wanted
  br i1 %equal, label %axis, label %no
yes:
  %count = load i64, ptr %sizes, align 8
  ret i64 %count
no:
  ret i64 0
}}

define internal ptr @batch(ptr %plan, ptr %slow, ptr %args, i64 %given, ptr %keywords) noinline nounwind {{
entry:
  %pointers = alloca [{operands} x ptr], align 8
  %lengths = alloca [{axes} x i64], align 8
  %before = alloca i32, align 4
  %clear = alloca i32, align 4
  %after = alloca i32, align 4
  {fields}
  %shapes = getelementptr i8, ptr %plan, i64 {shapes}
  %complete = icmp eq i64 %given, %ins
  %told = load i64, ptr %threads, align 8
  %alone = icmp eq i64 %told, 1
  %candidate = and i1 %complete, %alone
  br i1 %candidate, label %words, label %other
words:
  %bare = icmp eq ptr %keywords, null
  br i1 %bare, label %begin, label %keyed
keyed:
  %words.at = getelementptr i8, ptr %keywords, i64 {length}
  %word.count = load i64, ptr %words.at, align 8
  %is.single = icmp eq i64 %word.count, 1
  br i1 %is.single, label %word, label %other
word:
  %word.at = getelementptr i8, ptr %keywords, i64 {items}
  %name = load ptr, ptr %word.at, align 8
  %is.out = icmp eq ptr %name, %out_name
  br i1 %is.out, label %directed, label %other
directed:
  %value.at = getelementptr ptr, ptr %args, i64 %ins
  %value = load ptr, ptr %value.at, align 8
  %kind.at = getelementptr i8, ptr %value, i64 8
  %kind = load ptr, ptr %kind.at, align 8
  %is.tuple = icmp eq ptr %kind, %tuple_type
  br i1 %is.tuple, label %listed, label %lone
listed:
  %listed.at = getelementptr i8, ptr %value, i64 {length}
  %listed.count = load i64, ptr %listed.at, align 8
  %is.whole = icmp eq i64 %listed.count, %outs
  %listed.first = getelementptr i8, ptr %value, i64 {items}
  br i1 %is.whole, label %begin, label %other
lone:
  %is.only = icmp eq i64 %outs, 1
  br i1 %is.only, label %begin, label %other

begin:
  %targets = phi ptr [ null, %words ], [ %listed.first, %listed ], [ %value.at, %lone ]
  %first = load ptr, ptr %args, align 8
  %first.shape = load ptr, ptr %shapes, align 8
  %count = call i64 @samples(ptr %first, ptr %first.shape, ptr %ndarray, ptr %float64, i32 {plain})
  %is.some = icmp ne i64 %count, 0
  %new = icmp eq ptr %targets, null
  %taken = select i1 %new, i64 0, i64 %outs
  %all = add i64 %ins, %taken
  br i1 %is.some, label %operand, label %other
operand:
  %i = phi i64 [ 0, %begin ], [ %i.next, %apart ]
  %is.input = icmp ult i64 %i, %ins
  %beyond = sub i64 %i, %ins
  %input.at = getelementptr ptr, ptr %args, i64 %i
  %target.at = getelementptr ptr, ptr %targets, i64 %beyond
  %object.at = select i1 %is.input, ptr %input.at, ptr %target.at
  %object = load ptr, ptr %object.at, align 8
  %asked = select i1 %is.input, i32 {plain}, i32 {writable}
  %shape.at = getelementptr ptr, ptr %shapes, i64 %i
  %shape = load ptr, ptr %shape.at, align 8
  %found = call i64 @samples(ptr %object, ptr %shape, ptr %ndarray, ptr %float64, i32 %asked)
  %is.same = icmp eq i64 %found, %count
  br i1 %is.same, label %place, label %other
place:
  %data.at = getelementptr i8, ptr %object, i64 {data}
  %content = load ptr, ptr %data.at, align 8
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %content, ptr %pointer.at, align 8
  %step.at = getelementptr i64, ptr %steps, i64 %i
  %step = load i64, ptr %step.at, align 8
  %bytes = mul i64 %step, %count
  %end = getelementptr i8, ptr %content, i64 %bytes
  %others = select i1 %is.input, i64 0, i64 %i
  br label %against
against:
  %m = phi i64 [ 0, %place ], [ %m.next, %meet ]
  %any = icmp ult i64 %m, %others
  br i1 %any, label %meet, label %apart
meet:
  %m.next = add i64 %m, 1
  %rival.at = getelementptr ptr, ptr %pointers, i64 %m
  %rival = load ptr, ptr %rival.at, align 8
  %rival.step.at = getelementptr i64, ptr %steps, i64 %m
  %rival.step = load i64, ptr %rival.step.at, align 8
  %rival.bytes = mul i64 %rival.step, %count
  %rival.end = getelementptr i8, ptr %rival, i64 %rival.bytes
  %ends.before = icmp ule ptr %end, %rival
  %starts.after = icmp uge ptr %content, %rival.end
  %clear.of = or i1 %ends.before, %starts.after
  br i1 %clear.of, label %against, label %other
apart:
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %all
  br i1 %again, label %operand, label %prepare

prepare:
  %several = icmp ugt i64 %outs, 1
  br i1 %new, label %fresh, label %hold
hold:
  %single = load ptr, ptr %targets, align 8
  %list.at = getelementptr ptr, ptr %args, i64 %ins
  %list = load ptr, ptr %list.at, align 8
  %held = select i1 %several, ptr %list, ptr %single
  call void %incref(ptr %held)
  br label %run
fresh:
  br i1 %several, label %pack, label %make
pack:
  %packed = call ptr %tuple(i64 %outs)
  %no.tuple = icmp eq ptr %packed, null
  br i1 %no.tuple, label %failed, label %make
make:
  %j = phi i64 [ 0, %fresh ], [ 0, %pack ], [ %j.next, %kept ]
  %holder = phi ptr [ null, %fresh ], [ %packed, %pack ], [ %holder, %kept ]
  %number = add i64 %j, %ins
  %result.shape.at = getelementptr ptr, ptr %shapes, i64 %number
  %result.shape = load ptr, ptr %result.shape.at, align 8
  %result.core = load i64, ptr %result.shape, align 8
  store i64 %count, ptr %lengths, align 8
  br label %length
length:
  %a = phi i64 [ 0, %make ], [ %a.next, %copy ]
  %a.next = add i64 %a, 1
  %lacks = icmp ult i64 %a, %result.core
  br i1 %lacks, label %copy, label %measured
copy:
  %from = getelementptr i64, ptr %result.shape, i64 %a.next
  %known = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr %lengths, i64 %a.next
  store i64 %known, ptr %to, align 8
  br label %length
measured:
  %result.nd = trunc i64 %a.next to i32
  call void %incref(ptr %float64)
  %result = call ptr %empty(i32 %result.nd, ptr %lengths, ptr %float64, i32 0)
  %no.array = icmp eq ptr %result, null
  br i1 %no.array, label %drop, label %made
made:
  %room.at = getelementptr i8, ptr %result, i64 {data}
  %room = load ptr, ptr %room.at, align 8
  %filled.at = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %room, ptr %filled.at, align 8
  br i1 %several, label %keep, label %run
keep:
  %holder.first = getelementptr i8, ptr %holder, i64 {items}
  %item.at = getelementptr ptr, ptr %holder.first, i64 %j
  store ptr %result, ptr %item.at, align 8
  br label %kept
kept:
  %j.next = add i64 %j, 1
  %another = icmp ult i64 %j.next, %outs
  br i1 %another, label %make, label %run
drop:
  br i1 %several, label %release, label %failed
release:
  call void %decref(ptr %holder)
  br label %failed
failed:
  ret ptr null

run:
  %answer = phi ptr [ %held, %hold ], [ %result, %made ], [ %holder, %kept ]
  store i64 %count, ptr %lengths, align 8
  call void @llvm.x86.sse.stmxcsr(ptr %before)
  %status = load i32, ptr %before, align 4
  %cleared = and i32 %status, {kept}
  store i32 %cleared, ptr %clear, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %clear)
  %is.long = icmp uge i64 %count, {release}
  br i1 %is.long, label %unlocked, label %locked
locked:
  call void %wide(ptr %pointers, ptr %lengths, ptr %steps, ptr null)
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
  %trouble = and i32 %raised, {trouble}
  %is.clean = icmp eq i32 %trouble, 0
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

NO_BATCH = """
define internal ptr @batch(ptr %plan, ptr %slow, ptr %args, i64 %given, ptr %keywords) noinline nounwind {{
  {fields}
  %passed = call ptr %vectorcall(ptr %slow, ptr %args, i64 %given, ptr %keywords)
  ret ptr %passed
}}
"""


def batch_text(x86: bool, plain: int, known: Mapping[str, int | str]) -> str:
    """The functions for batches; those that hand on everything if not `x86`.

    `plain` are the flags of a plain array, `known` is what direct calls are told: where the fields of objects are.
    """
    numbers = {"kept": _KEPT, "trouble": _FLAGS, "release": _RELEASE, "writable": plain | _WRITABLE}
    return (BATCH if x86 else NO_BATCH).format(**known, **numbers)
