"""Text and tables to a `Robot` or a `Mechanism`, and back.

Every description (a DH table, a URDF or TOML file, a few lines of Python) ends in the same list of parts, and one
place, `assemble`, makes a robot of them.
"""
