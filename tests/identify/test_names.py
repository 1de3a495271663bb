"""Names of the chapter: one word, one meaning."""

import importlib
import inspect
import pkgutil

import appell
from appell import identify


def modules(package):
    names = [info.name for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def test_no_class_of_identification_shares_its_name_with_another():
    owners = {}
    for module in modules(appell):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__ and not name.startswith("_"):
                owners.setdefault(name, set()).add(module.__name__)
    ours = {name: places for name, places in owners.items() if any("identify" in place for place in places)}
    assert len(ours) > 20
    assert {name: places for name, places in ours.items() if len(places) > 1} == {}


def test_no_function_of_identification_shadows_a_module():
    for module in [identify, *modules(identify)]:
        inner = module.__name__.rpartition(".")[2]
        assert not inspect.isfunction(getattr(module, inner, None)), module.__name__
    inside = {info.name for info in pkgutil.iter_modules(identify.__path__)}
    assert inside.isdisjoint(identify.__all__)


def test_every_public_name_is_there_once_and_says_what_it_is():
    assert identify.__all__ == sorted(set(identify.__all__))
    for name in identify.__all__:
        assert inspect.getdoc(getattr(identify, name)), name
