"""A function inside XLA, the compiler of JAX.

handler      the machine code that XLA calls, in LLVM text: no C compiler, no header
target       kernels that XLA knows by name
plain        a tape in JAX's own operations, for other devices
batches      batch axes that are shared or not, without copies
primitive    the call as JAX sees it: batches, derivatives forward and backward
march_primitive    a whole march in the same way
"""
