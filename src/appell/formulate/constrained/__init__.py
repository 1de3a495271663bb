"""The rows of constraints on a tree, and what follows from them: all over abstract scalars."""
