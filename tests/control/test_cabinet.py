"""The simulated cabinet: all its signals against the equations of `wiring` in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.describe.load import load
from appell.hardware.cabinet.signals import signal_blocks
from appell.hardware.cabinet.simulated import PERFECT, Imperfections, SimulatedCabinet
from appell.hardware.cabinet.standard_wirings import WIRINGS, generic_wiring, puma_600, wiring_of
from appell.hardware.clock import VirtualClock
from appell.hardware.device import JointCommand
from appell.model.actuator import Actuator
from control_motion import START, WIRING, ideal


@pytest.fixture
def make(plant_model):
    def cabinet(q=START, **options) -> SimulatedCabinet:
        return SimulatedCabinet(plant_model, VirtualClock(), q, **({"imperfections": PERFECT} | options))

    return cabinet


def read(cabinet: SimulatedCabinet, at: float) -> dict[str, np.ndarray]:
    layout = signal_blocks(6)
    signals = np.zeros(layout.size)
    cabinet.clock.wait_until(at)
    assert cabinet.read_signals(signals)
    return {name: layout.take(signals, name) for name in layout.at}


def write_codes(cabinet: SimulatedCabinet, codes: np.ndarray) -> None:
    command = JointCommand(6)
    command.tau[:] = WIRING.torque(codes)
    cabinet.write(command)
    np.testing.assert_array_equal(cabinet.bound.codes, codes)


def test_potentiometers_give_0_to_5_volts_over_the_range_in_12_bits(make):
    lower, upper = WIRING.column("lower"), WIRING.column("upper")
    for part in (0.0, 0.25, 1.0):
        volts = read(make(lower + part * (upper - lower)), 0.0)["volts"]
        np.testing.assert_allclose(volts, 5.0 * part, atol=0.51 * 5.0 / 4095)
        np.testing.assert_allclose(volts * 4095 / 5.0, np.round(volts * 4095 / 5.0), atol=1e-9)


def test_encoders_count_four_edges_per_line_with_200_and_250_lines(make):
    assert [channel.lines for channel in WIRING.channels] == [200, 200, 250, 250, 250, 250]
    cabinet = make()
    first = read(cabinet, 0.0)["counts"]
    np.testing.assert_array_equal(first, 0.0)
    cabinet.bound.state_next[:6] += 0.3
    gear = WIRING.column("gear")
    expected = 0.3 * 4 * np.array([200, 200, 250, 250, 250, 250]) * gear / (2 * np.pi)
    np.testing.assert_allclose(read(cabinet, 1e-3)["counts"], expected, atol=1.0)


def test_the_index_pulse_latches_the_count_once_per_revolution_of_the_motor(make):
    drive = WIRING.channels[0]
    pulse = drive.home + drive.index_pitch  # rad, the first one above home
    start = START.copy()
    start[0] = pulse - 0.01
    cabinet = make(start)
    signals = read(cabinet, 0.0)
    assert signals["index_seen"][0] == 0.0
    cabinet.bound.state_next[0] = pulse + 0.01
    signals = read(cabinet, 1e-3)
    assert signals["index_seen"][0] == 1.0
    at_pulse = pulse - 0.01 + (signals["index_counts"][0] + 0.5) / drive.resolution
    assert abs(at_pulse - pulse) < 1.0 / drive.resolution


def test_the_converters_reach_10_volts_in_4096_steps_and_torque_follows_the_drive(make):
    cabinet, wiring = make(), WIRING
    cabinet.enable()
    codes = np.full(6, 2048.0 + 100.0)
    write_codes(cabinet, codes)
    read(cabinet, 1e-3)
    volts = 100.0 * 20.0 / 4096
    motors = [channel.actuator for channel in wiring.channels]
    gains = [channel.amplifier for channel in wiring.channels]
    expected = [m.torque_constant * m.gear * gain * volts for m, gain in zip(motors, gains, strict=True)]
    np.testing.assert_allclose(cabinet.torque, expected, rtol=1e-12)
    np.testing.assert_allclose(wiring.torque(codes), expected, rtol=1e-12)


def test_the_current_never_exceeds_the_limit_of_the_amplifier(make):
    cabinet = make()
    cabinet.enable()
    write_codes(cabinet, np.full(6, 4095.0))
    read(cabinet, 1e-3)
    limit = WIRING.column("current_limit")
    assert (np.abs(cabinet.bound.current) <= limit * (1 + 1e-12)).all()
    assert cabinet.bound.current[0] == limit[0]


def test_the_supply_voltage_limits_the_current_of_a_fast_joint(make):
    cabinet, drive = make(), WIRING.channels[3]
    cabinet.enable()
    cabinet.bound.state_next[6 + 3] = 5.0  # rad/s: back EMF 0.09 · 76 · 5 = 34 of 40 V
    write_codes(cabinet, np.full(6, 2500.0))
    read(cabinet, 1e-3)
    available = (drive.supply - drive.torque_per_ampere * 5.0) / drive.resistance
    np.testing.assert_allclose(cabinet.bound.current[3], available, rtol=1e-12)
    assert available < drive.amplifier * 452 * 20 / 4096


def test_a_loaded_motor_heats_up_until_its_contact_opens_and_cools_down(make):
    cabinet, drive = make(step=0.05), WIRING.channels[0]
    hold = np.full(6, 2048.0)
    hold[0] = 4095.0
    cabinet.enable()
    cabinet.heartbeat = np.inf
    write_codes(cabinet, hold)
    cabinet.bound.state_next[:6] = START
    final = 25.0 + drive.heating * drive.resistance * drive.current_limit**2
    assert final > drive.hottest
    for k in range(1, 20_000):
        cabinet.bound.state_next[:18] = np.concatenate([START, np.zeros(12)])  # the arm is held in place
        hot = read(cabinet, 0.05 * k)["hot"][0]
        if hot:
            break
    expected = final + (25.0 - final) * np.exp(-0.05 * k / drive.cooling_time)
    assert hot == 1.0
    np.testing.assert_allclose([cabinet.truth("temperature")[0], drive.hottest], expected, atol=0.05)
    cabinet.disable()
    assert read(cabinet, 0.05 * k + 60.0)["hot"][0] == 0.0
    np.testing.assert_allclose(cabinet.truth("temperature")[0], 25.0 + (expected - 25.0) * np.exp(-0.1), atol=0.05)


def test_without_a_heartbeat_the_brakes_stop_the_arm(make):
    cabinet = make(heartbeat=0.02)
    cabinet.enable()
    write_codes(cabinet, np.full(6, 2048.0))  # no torque: the arm starts to fall
    read(cabinet, 0.0185)
    assert cabinet.enabled
    assert np.abs(cabinet.v).max() > 0.05
    signals = read(cabinet, 0.021)
    assert not cabinet.enabled
    assert signals["hardware_fault"][0] == 1.0
    read(cabinet, 0.3)
    assert np.abs(cabinet.v).max() < 1e-6
    cabinet.enable()
    assert not cabinet.enabled  # until the watchdog is reset
    cabinet.clear()
    cabinet.enable()
    assert cabinet.enabled


def test_noise_is_seeded_and_imperfections_differ_between_cabinets(make):
    rough = Imperfections()
    one, same, other = (make(imperfections=rough, seed=seed) for seed in (1, 1, 2))
    for t in (0.0, 1e-3, 2e-3):
        a, b, c = (read(cabinet, t)["volts"] for cabinet in (one, same, other))
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()


def test_a_delay_of_two_readings_returns_the_reading_before_the_last(make):
    now, late = make(), make(imperfections=replace(PERFECT, delay=2))
    readings = []
    for k in range(6):
        for cabinet in (now, late):
            cabinet.bound.state_next[:6] = START + 0.01 * k
        readings.append((read(now, 1e-3 * k)["counts"], read(late, 1e-3 * k)["counts"]))
    for k in range(2, 6):
        np.testing.assert_array_equal(readings[k][1], readings[k - 2][0])


def test_there_are_two_tool_outputs(make):
    cabinet = make()
    cabinet.write_tool(0b10)
    assert cabinet.tool == 0b10
    cabinet.write_tool(0b111)
    assert cabinet.tool == 0b11


def test_a_wiring_is_selected_by_the_name_of_a_system_with_known_motors(puma, monkeypatch):
    assert wiring_of(puma) == puma_600(puma)
    assert wiring_of(ideal(puma)).name == "the generic cabinet of robot 'puma'"
    delta = load("delta").with_actuators(lambda name, _: Actuator(torque_constant=0.1, current=5.0))
    assert wiring_of(delta).name == "the generic cabinet of mechanism 'delta'"
    monkeypatch.setitem(WIRINGS, "delta", lambda system: replace(generic_wiring(system), name="my cabinet"))
    assert wiring_of(delta).name == "my cabinet"


def test_the_wiring_of_the_puma_uses_the_gears_and_motors_of_the_robot(puma):
    geared = puma.with_actuators(lambda name, actuator: replace(actuator, gear=2.0 * actuator.gear))
    for ratio, name in ((2.0, "resolution"), (2.0, "torque_per_ampere"), (0.5, "index_pitch")):
        np.testing.assert_allclose(puma_600(geared).column(name), ratio * puma_600(puma).column(name))
    np.testing.assert_allclose(puma_600(puma).reachable_torque, [97.6, 186.4, 89.4, 24.2, 20.1, 21.3])
