"""The identity of a study: hashes of its text and of all user code and values that it refers to."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.sweeps.identity import study_hashes
from appell.sweeps.pool import packed
from appell_lab.fuzz.study_folders import HARMLESS, IMPORTS, WAYS, folder, harmless, imported, outcome

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
        ("LATE = None", "LATE = 7", "LATE"),
        ("KEPT = {}", "KEPT = {1: 2}", "KEPT"),
    ],
)
def test_a_change_anywhere_in_the_study_is_detected_and_named(loaded, old, new, culprit):
    before, after = parts(loaded), parts(loaded, old, new)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert culprit in changed
    assert changed <= {culprit, "study"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def study", "# a remark\n\ndef study"),
        ("    global LATE\n", '    "What it does."\n    global LATE\n'),
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


def test_functions_of_appell_are_identified_by_public_names_without_modules(loaded, monkeypatch):
    """Modules of appell may move; another function of the same name in the study is another study."""
    text = "from appell import simulate as f, Contact as C\ndef study(x):\n    return f, C\n"
    before = study_hashes(loaded(text).study)
    with monkeypatch.context() as patch:
        patch.setattr("appell.simulate.__module__", "appell.elsewhere")
        assert study_hashes(loaded(text).study) == before
    other = study_hashes(loaded(text.replace("simulate", "rollout")).study)
    assert [name for name in before if before[name] != other[name]] == ["f"]


@pytest.mark.parametrize("depth", [0, 2])
def test_a_number_that_changes_in_any_module_of_the_study_is_detected(tmp_path, depth):
    """More than 70 ways to define a number, in the study's module, or in one that an imported one imports."""
    missed = []
    for k, way in enumerate(WAYS):
        before, after = (outcome(folder(way, x, depth), tmp_path / f"{k} {x}") for x in (2.5, 3.5))
        assert before[0] != after[0], way
        missed += [way] * (before[1] == after[1])
    assert missed == []


@pytest.mark.parametrize("style", IMPORTS)
def test_a_number_is_detected_whatever_the_form_of_the_import(tmp_path, style):
    before, after = (outcome(folder("object", x, 2, style), tmp_path / f"{x}") for x in (2.5, 3.5))
    changed = [name for name in before[1] if before[1][name] != after[1].get(name)]
    assert any(name.endswith("link2.gain") for name in changed)


@pytest.mark.parametrize("edit", HARMLESS)
def test_harmless_edits_are_not_detected(tmp_path, edit):
    files = folder("closure", 2.5, 1)
    assert outcome(files, tmp_path / "a") == outcome(harmless(files, edit), tmp_path / "b")


def test_hashes_are_the_same_in_every_process(tmp_path):
    """They depend neither on the order of sets nor on addresses."""
    text = "N = {'a', 'b', 'c'}\nT = [N, lambda: 1]\ndef study(x):\n    return x in {'p', 'q', 'r'}, N, T\n"
    (tmp_path / "study.py").write_text(text)
    program = "import study; from appell.sweeps.identity import study_hashes; print(study_hashes(study.study))"
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    printed = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True)
    with imported({}, tmp_path) as module:
        assert printed.stdout.decode().strip() == str(study_hashes(module.study))


def test_versions_of_installed_packages_belong_to_the_study(loaded, monkeypatch):
    study = loaded("import numpy as np\ndef study(x):\n    return np.sin(x)\n").study
    assert study_hashes(study)["version of numpy"] == f"numpy {np.__version__}"
    monkeypatch.setattr("appell.sweeps.identity.package_version", lambda name: "0.1")
    assert study_hashes(study)["version of numpy"] == "0.1"


def test_a_value_that_cannot_be_hashed_is_refused_by_name_unless_the_study_is_accepted(tmp_path):
    def study_with(lock):
        return lambda x: {"y": x if lock else 0.0}

    study = study_with(threading.Lock())
    with pytest.raises(ap.ArgumentError, match="'lock' of the study contains an object of type lock") as refused:
        ap.sweep(study, {"x": [1.0]}, tmp_path / "s.zarr")
    assert "accept_study=True" in refused.value.hint
    assert not (tmp_path / "s.zarr").exists()
    assert ap.sweep(lambda x: study(x), {"x": [1.0]}, tmp_path / "s.zarr", accept_study=True)["y"].tolist() == [1.0]


def test_a_constant_of_a_module_that_a_module_imports_is_not_mixed_into_a_store(tmp_path):
    """Once, two jobs of the old constant and two of the new one were stored together: [2, 4, 15, 20]."""
    study = "import os, model\ntable = {'x': [1.0, 2.0, 3.0, 4.0]}\ndef study(x):\n    return {'y': model.f(x)}\n"
    model = "import os, params\ndef f(x):\n    if x > 2 and 'FAIL' in os.environ:\n        raise ValueError\n"
    files = {"study.py": study, "model.py": model + "    return params.GAIN * x\n", "params.py": "GAIN = 2.0\n"}

    def command(directory, *options, fail=False):
        with imported(files, tmp_path / directory), pytest.MonkeyPatch.context() as patch:
            if fail:
                patch.setenv("FAIL", "1")
            arguments = ["sweep", str(tmp_path / directory / "study.py"), "--out", str(tmp_path / "s.zarr"), *options]
            return CliRunner().invoke(app, arguments)

    assert command("a", fail=True).exit_code == 0
    files["params.py"] = "GAIN = 5.0\n"
    refused = command("b", "--retry-failed")
    assert refused.exit_code == 1
    assert "params.GAIN" in refused.output
    assert "--accept-study" in refused.output
    assert ap.sweeps.open(tmp_path / "s.zarr")["y"][:2].tolist() == [2.0, 4.0]
