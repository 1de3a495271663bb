"""MJCF, the format of MuJoCo: read with MuJoCo's own compiler, written without it."""
