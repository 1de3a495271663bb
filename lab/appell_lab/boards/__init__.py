"""Machines on which exported C is tried: compilers of this one, and emulated ones.

board       a compiler, its flags, and what runs its programs
program     the program that calls exported functions on given samples and keeps their bits
cortex_m    what a Cortex-M needs besides: vectors, the floating-point unit, memory, a clock that counts instructions
"""
