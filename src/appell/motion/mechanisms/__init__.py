"""Poses of mechanisms: whether they can be taken, which one belongs to given actuators, maps and drawings of them."""
