"""MJCF, the format of MuJoCo: read by MuJoCo's compiler, written without it."""
