"""Formulas in other languages and libraries. The modules read the tape and do not depend on robots.

    to_casadi, to_sympy, to_latex, to_json, python_text      the tape in other languages
    to_jax, to_torch                                         the kernel inside JAX and PyTorch, with derivatives
    replay               evaluates a tape over any scalars, by a table with one row per instruction
    differentiable       functions and scans whose derivatives are functions and scans again
    jax_primitives, xla  calls as JAX sees them, and the machine code that XLA calls

The package that a module needs is imported on first use; the error names it if it is missing.
"""
