"""A formula in other languages: each reads the tape, none knows a robot.

    face      the methods of a Function: to_c, to_casadi, to_jax, to_torch, to_sympy, to_latex, to_json
    replay    a tape over any scalars, by a table with one row an instruction
    derivable, calls, xla/      what JAX and PyTorch share, and what JAX needs besides

What a language needs is imported when it is asked for, and named if it is not there.
"""
