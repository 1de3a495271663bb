"""Functions as C99, with the same bits as the machine code.

source        CSource, which `Function.to_c` returns: a source file and its header; steps with a state
signature     arguments and results in C, and names that C accepts
body          a tape as straight code, a program as loops
statements    the emitters of the machine code, as C text; sine, cosine, exponential and others
"""
