"""Read descriptions as a `Robot` or `Mechanism`, and write them.

Every description (a DH table, a URDF, MJCF, SDF or TOML file, a few lines of Python) is converted into the same list of
parts, which `assemble` turns into a robot.
"""
