"""Inverse and forward dynamics of long trees as loops over links: one step a kind of joint, its numbers in a table."""
