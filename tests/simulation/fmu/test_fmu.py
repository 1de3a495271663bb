"""A robot as an FMU: another tool validates it and simulates the motion of a rollout, bit for bit."""

from __future__ import annotations

import errno
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu

import appell as ap
from appell.compile.native.machine import host
from appell.errors import ArgumentError, StepWarning

NEEDS_FMA = pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
STRICT = ("-march=native", "-O1", "-pedantic", "-Wall", "-Wextra", "-Werror")


def running(path, folder) -> tuple[FMU2Slave, dict[str, int]]:
    """An instance, and the value references by name."""
    about = fmpy.read_model_description(str(path))
    model = FMU2Slave(
        guid=about.guid,
        unzipDirectory=fmpy.extract(str(path), unzipdir=str(folder)),
        modelIdentifier=about.coSimulation.modelIdentifier,
        instanceName="one",
    )
    model.instantiate()
    model.setupExperiment(startTime=0.0)
    return model, {variable.name: variable.valueReference for variable in about.modelVariables}


@NEEDS_FMA
def test_fmpy_validates_the_fmu_and_simulates_a_rollout(tmp_path, program):
    program("gcc")
    robot, rng = ap.load("puma"), np.random.default_rng(2)
    q0, v0 = np.linspace(-0.5, 0.5, 6), np.linspace(0.2, -0.2, 6)
    path = ap.to_fmu(robot, tmp_path / "arm.fmu", q0=q0, v0=v0, compiler="gcc", flags=STRICT)
    assert validate_fmu(str(path)) == []

    model, number = running(path, tmp_path / "whole")
    model.enterInitializationMode()
    model.exitInitializationMode()
    state = [number[f"q_{name}"] for name in robot.coordinate_names] + [number[f"v_{x}"] for x in robot.velocity_names]
    inputs = [number[f"tau_{name}"] for name in robot.actuator_names]
    torque = rng.uniform(-20.0, 20.0, (40, 6))
    states = [model.getReal(state)]
    for k, tau in enumerate(torque):
        model.setReal(inputs, tau.tolist())
        model.doStep(currentCommunicationPoint=2e-3 * k, communicationStepSize=2e-3)  # two steps
        states.append(model.getReal(state))
    wanted = ap.rollout(
        robot, q0, v0, np.repeat(torque, 2, axis=0), steps=80, dt=1e-3, output=ap.simulation.Output(every=2)
    )
    assert np.array_equal(states, np.concatenate([wanted.q[0], wanted.v[0]], axis=-1))

    kept = model.getFMUstate()
    model.doStep(currentCommunicationPoint=0.08, communicationStepSize=1e-3)
    onward = model.getReal(state)
    model.setFMUstate(kept)
    model.freeFMUstate(kept)
    assert model.getReal(state) == states[-1]
    model.doStep(currentCommunicationPoint=0.08, communicationStepSize=1e-3)
    assert model.getReal(state) == onward
    model.reset()
    assert model.getReal(state) == [*q0, *v0]
    model.terminate()
    model.freeInstance()


def test_a_tool_may_choose_the_start_the_step_and_steps_that_do_not_divide_the_interval(tmp_path, program):
    program("gcc")
    path = ap.to_fmu(ap.load("pendulum"), tmp_path / "pendulum.fmu", method="euler", compiler="gcc", flags=STRICT)
    dyn = ap.Dynamics(ap.load("pendulum"), friction=True, rotors=True)
    model, number = running(path, tmp_path / "whole")
    q, v = (number[next(name for name in number if name.startswith(kind))] for kind in ("q_", "v_"))
    model.enterInitializationMode()
    model.setReal([q, number["step"]], [0.7, 4e-3])
    model.exitInitializationMode()
    model.doStep(currentCommunicationPoint=0.0, communicationStepSize=0.01)  # 4 + 4 + 2 ms
    x, w = 0.7, 0.0
    for h in (4e-3, 4e-3, 2e-3):
        w += h * dyn.forward_dynamics([x], [w], [0.0])[0]
        x += h * w
    assert model.getReal([q, v]) == pytest.approx([x, w], rel=1e-13)
    assert model.getReal([number["step"]]) == [4e-3]
    model.freeInstance()


def test_a_state_that_diverges_and_a_negative_step_are_errors(tmp_path, program):
    program("gcc")
    path = ap.to_fmu(ap.load("pendulum"), tmp_path / "pendulum.fmu", compiler="gcc", flags=STRICT)
    model, number = running(path, tmp_path / "whole")
    tau = number[next(name for name in number if name.startswith("tau_"))]
    model.enterInitializationMode()
    model.exitInitializationMode()
    with pytest.raises(fmpy.fmi1.FMICallException):
        model.doStep(currentCommunicationPoint=0.0, communicationStepSize=-1.0)
    model.setReal([tau], [float("nan")])
    with pytest.raises(fmpy.fmi1.FMICallException):
        model.doStep(currentCommunicationPoint=0.0, communicationStepSize=1e-3)
    model.freeInstance()


def test_sources_alone_are_the_same_file_every_time_and_list_names_units_and_starts(tmp_path):
    first, second = (ap.to_fmu(ap.load("agile-wrist"), tmp_path / f"{k}.fmu").read_bytes() for k in range(2))
    assert first == second
    assert validate_fmu(str(tmp_path / "0.fmu")) == []
    with zipfile.ZipFile(tmp_path / "0.fmu") as archive:
        assert sorted(archive.namelist()) == [
            "modelDescription.xml",
            "sources/agile_wrist_fmi.c",
            "sources/agile_wrist_step.c",
            "sources/agile_wrist_step.h",
        ]
    about = fmpy.read_model_description(str(tmp_path / "0.fmu"))
    system = ap.load("agile-wrist")
    kinds = {variable.name: (variable.causality, variable.unit, variable.start) for variable in about.modelVariables}
    for name, start in zip(system.coordinate_names, system.home, strict=True):
        assert kinds[f"q_{name}"] == ("output", "rad", repr(start))
    for name in system.actuator_names:
        assert kinds[f"tau_{name}"] == ("input", "N m", "0.0")
    assert kinds["step"] == ("parameter", "s", "0.001")


@NEEDS_FMA
def test_external_wrenches_are_inputs(tmp_path, program):
    program("gcc")
    robot, push = ap.load("puma"), [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]
    dyn = ap.Dynamics(robot, wrenches=["tool"])
    path = ap.to_fmu(dyn, tmp_path / "pushed.fmu", name="pushed", compiler="gcc", flags=STRICT)
    model, number = running(path, tmp_path / "whole")
    names = [f"wrench_tool_{axis}" for axis in ("fx", "fy", "fz", "mx", "my", "mz")]
    model.enterInitializationMode()
    model.exitInitializationMode()
    model.setReal([number[name] for name in names], push)
    model.doStep(currentCommunicationPoint=0.0, communicationStepSize=5e-3)
    velocities = model.getReal([number[f"v_{name}"] for name in robot.velocity_names])
    wanted = ap.rollout(dyn, steps=5, dt=1e-3, wrenches={"tool": push})
    assert velocities == wanted.v[0, -1].tolist()
    model.freeInstance()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "arm.zip"}, "'arm.zip' cannot be written: its ending is not supported"),
        ({"name": "my arm"}, "not an identifier of C"),
        ({"method": "rk5"}, "no method 'rk5'"),
        ({"dt": -1.0}, "dt"),
        ({"q0": [[0.0] * 6, [0.1] * 6]}, "q0, v0 or wrenches have 2 members"),
        ({"wrenches": {"tool": [1.0, 2.0]}}, "the wrench on tool has shape"),
        ({"compiler": "no-such-compiler"}, "compiler 'no-such-compiler' is not installed"),
    ],
)
def test_invalid_options_of_an_fmu_are_named(options, said, tmp_path):
    given = {"path": "arm.fmu"} | options
    with pytest.raises(ArgumentError, match=said):
        ap.to_fmu(ap.load("puma"), tmp_path / given.pop("path"), **given)


def test_an_fmu_is_not_overwritten_silently(tmp_path):
    path = tmp_path / "arm.fmu"
    path.write_text("mine")
    with pytest.raises(ArgumentError, match=r"arm\.fmu already exists"):
        ap.to_fmu(ap.load("pendulum"), path)
    assert path.read_text() == "mine"
    assert ap.to_fmu(ap.load("pendulum"), path, overwrite=True) == path


def test_a_full_disk_leaves_no_fmu(tmp_path, monkeypatch):
    def fill_up(path, data):
        with open(path, "wb") as file:
            file.write(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fill_up)
    with pytest.raises(ArgumentError, match=r"arm\.fmu: No space left on device"):
        ap.to_fmu(ap.load("pendulum"), tmp_path / "arm.fmu", compiler=None)
    assert list(tmp_path.iterdir()) == []


def test_values_of_wrenches_are_start_values(tmp_path):
    push = [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]
    path = ap.to_fmu(ap.load("puma"), tmp_path / "pushed.fmu", wrenches={"tool": push}, method="moreau")
    starts = {variable.name: variable.start for variable in fmpy.read_model_description(str(path)).modelVariables}
    names = [f"wrench_tool_{axis}" for axis in ("fx", "fy", "fz", "mx", "my", "mz")]
    assert [float(starts[name]) for name in names] == push


def test_a_step_that_is_too_long_for_the_damping_is_reported(tmp_path):
    damped = ap.load("pendulum").with_actuators({"hinge": {"friction": ap.Friction(viscous=1e4)}})
    for export in (lambda: ap.rollout(damped, steps=1), lambda: ap.to_fmu(damped, tmp_path / "damped.fmu")):
        with pytest.warns(StepWarning, match="damping is too strong for the step: .* mostly that of 'hinge'"):
            export()
