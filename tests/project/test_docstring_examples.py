"""Examples in the docstrings of public names run and print what they show; the names that people use most have one."""

from __future__ import annotations

import doctest
import inspect

import pytest

import appell as ap

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ("control", "hardware", "identify", "kinematics", "motion", "simulation", "sweeps")
DYNAMICS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "bias",
    "gravity",
    "coriolis",
    "jacobian",
    "pose",
    "regressor",
    "energy",
)
MOST_USED = (
    *("load", "load_text", "from_dh", "Builder", "to_urdf", "to_mjcf", "to_toml", "Robot", "Mechanism", "Actuator"),
    *("Dynamics", *(f"Dynamics.{name}" for name in DYNAMICS)),
    *("Function", "Function.jacobian", "Function.gradient", "Function.count", "Function.bind", "Function.to_c"),
    *("simulate", "rollout", "Contact", "Record", "to_html", "draw", "sweep", "control.linearize", "control.lqr"),
)


def public_objects():
    """Public functions and classes with their dotted names below `appell`."""
    for name in ap.__all__:
        value = getattr(ap, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            yield name, value
    for module in MODULES:
        package = getattr(ap, module, None) or __import__(f"appell.{module}", fromlist=["*"])
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield f"{module}.{name}", value


def examples(name, value):
    """Doctests of a public object and of its public methods and properties, with the names of its own module."""
    module = inspect.getmodule(value)
    finder = doctest.DocTestFinder(exclude_empty=True)
    for test in finder.find(value, name, module=module, globs={"ap": ap}):
        if test.examples:
            yield test


def formula_examples():
    """Doctests of the functions of `Dynamics`, which are traced on first use and documented by their formulas."""
    parser = doctest.DocTestParser()
    for name in ap.Dynamics.functions.fget(None):
        text = inspect.getdoc(getattr(ap.Dynamics, name)) or ""
        test = parser.get_doctest(text, {"ap": ap}, f"Dynamics.{name}", None, None)
        if test.examples:
            yield test


TESTS = {test.name: test for name, value in public_objects() for test in examples(name, value)}
TESTS |= {test.name: test for test in formula_examples()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TESTS)
def test_an_example_prints_what_it_shows(name, tmp_path, monkeypatch):
    if name == "from_pinocchio":
        pytest.importorskip("pinocchio")
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(TESTS[name], out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


def test_the_most_used_names_have_an_example():
    assert sorted({*MOST_USED} - {*TESTS}) == []
