"""Targets on which exported C code is tested: compilers of this machine, and emulated processors.

board       a compiler, its flags, and the emulator that runs its programs
program     the program that calls exported functions with given samples and writes their results bit by bit
cortex_m    startup code of a Cortex-M: vectors, floating-point unit, memory map
"""
