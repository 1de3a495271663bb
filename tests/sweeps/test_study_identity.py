"""The identity of a study: hashes of its text and of all user code and values that it refers to."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import textwrap

import pytest

from appell.sweeps.identity import study_hashes
from appell.sweeps.pool import packed

STUDY = """
import functools
import numpy as np
import appell as ap
FACTOR = 2.0
ARRAY = np.arange(3)
KEPT = {}
LATE = None
SETTINGS = {"until": 1.5}

def helper(x):
    return FACTOR * x

@functools.cache
def robot():
    return ap.Dynamics(ap.load("pendulum"))

class Thing:
    def value(self):
        return 1

def study(x, power=2):
    global LATE
    LATE = x
    KEPT[x] = robot()
    return {"y": helper(x) ** power + ARRAY.sum() + SETTINGS["until"] + Thing().value()}
"""


@pytest.fixture
def loaded(tmp_path, request):
    """Return a function that imports a module from a text, each from its own file."""
    names = []

    def load(text, name="a_study_of_somebody"):
        path = tmp_path / f"{len(names)}" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        names.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in names:
        sys.modules.pop(name, None)


def parts(load, old="", new=""):
    assert old in STUDY
    return study_hashes(load(STUDY.replace(old, new) if old else STUDY).study)


@pytest.mark.parametrize(
    ("old", "new", "culprit"),
    [
        ("** power", "* power", "study"),
        ("power=2", "power=3", "defaults of study"),
        ("FACTOR * x", "FACTOR + x", "helper"),
        ("FACTOR = 2.0", "FACTOR = 3.0", "FACTOR"),
        ("np.arange(3)", "np.arange(4)", "ARRAY"),
        ('"until": 1.5', '"until": 2.5', "SETTINGS"),
        ('"pendulum"', '"puma"', "robot"),
        ("return 1", "return 2", "Thing"),
    ],
)
def test_a_change_anywhere_in_the_study_is_detected_and_named(loaded, old, new, culprit):
    before, after = parts(loaded), parts(loaded, old, new)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert culprit in changed
    assert changed <= {culprit, "study", "Thing.value"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def study", "# a remark\n\ndef study"),
        ("    global LATE\n", '    "What it does."\n    global LATE\n'),
        ("LATE = None", "LATE = 7"),
        ("import functools\n", "import functools\nUNUSED = 5\n"),
        ("FACTOR * x", "( FACTOR *  x )"),
    ],
)
def test_comments_docstrings_spaces_and_unused_values_do_not_change_the_identity(loaded, old, new):
    assert parts(loaded) == parts(loaded, old, new)


def test_running_a_study_does_not_change_its_identity(loaded):
    study = loaded(STUDY).study
    before = study_hashes(study)
    study(3.0)
    assert study_hashes(study) == before


def test_closures_and_partials_are_distinguished_by_their_values():
    from functools import partial

    def scaled(factor):
        return lambda x: {"y": factor * x}

    assert study_hashes(scaled(2)) == study_hashes(scaled(2))
    assert study_hashes(scaled(2)) != study_hashes(scaled(3))
    assert study_hashes(partial(max, 1)) != study_hashes(partial(max, 2))


def test_a_study_is_sent_with_the_modules_of_its_user_and_its_caches_work_again(loaded):
    helper = loaded("FACTOR = 5\ndef five(x):\n    return FACTOR * x\n", "a_helper_of_somebody")
    text = "import functools\nfrom a_helper_of_somebody import five\nCALLS = []\n"
    text += "@functools.cache\ndef slow(x):\n    CALLS.append(x)\n    return five(x)\n"
    text += "def study(x):\n    return {'y': slow(x), 'calls': len(CALLS)}\n"
    content, _ = packed(loaded(text).study)
    for name in ("a_study_of_somebody", "a_helper_of_somebody"):
        del sys.modules[name]
    study = pickle.loads(content)
    assert study(3) == {"y": 15, "calls": 1}
    assert study(3) == {"y": 15, "calls": 1}
    assert helper.five(1) == 5


def test_functions_and_classes_of_appell_are_identified_by_public_names_without_modules(loaded):
    hashes = study_hashes(
        loaded("from appell import simulate, Contact\ndef study(x):\n    return simulate, Contact\n").study
    )
    assert (hashes["simulate"], hashes["Contact"]) == ("appell.simulate", "appell.Contact")
