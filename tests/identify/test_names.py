"""Public names of the package identify."""

import inspect

from appell import identify


def test_public_names_are_sorted_unique_and_documented():
    assert identify.__all__ == sorted(set(identify.__all__))
    for name in identify.__all__:
        assert inspect.getdoc(getattr(identify, name)), name
