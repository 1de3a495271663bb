"""Names of the chapter; that no two classes share one is asked in tests/project."""

import inspect

from appell import identify


def test_every_public_name_is_there_once_and_says_what_it_is():
    assert identify.__all__ == sorted(set(identify.__all__))
    for name in identify.__all__:
        assert inspect.getdoc(getattr(identify, name)), name
