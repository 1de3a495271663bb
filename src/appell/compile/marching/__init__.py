"""A step repeated in machine code: what carries thousands of states through thousands of steps in one call.

march      the face: a step and what it carries, called on arrays
horizon    the arguments of such a call, and what is wrong with them
"""
