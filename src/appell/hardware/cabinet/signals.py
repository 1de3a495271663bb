"""The signals of a cabinet, and their conversion to the joint level.

    θ = (counts + ½) / resolution + offset            an encoder rounds down                                   (1)
    gap⁺ = gap + 0.1 (θ - θ_p - gap)                  θ_p is the position that the potentiometer measures      (2)
    code = zero + τ / torque per code                                                                          (3)

An actuator whose gap exceeds its limit has a sensor fault: its encoder or its potentiometer has failed.

After power-on the offset is the mean of θ_p - counts / resolution until the amplifiers are switched on. A potentiometer
is absolute but inaccurate; counts are accurate but start at zero at any position. The index pulse occurs once per
revolution of the motor, at home + k pitch with an integer k. A potentiometer with an error below half a pitch
determines k:

    offset = home + k pitch - counts at the pulse / resolution,     k = nearest((θ at the pulse - home) / pitch)     (4)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.algebra.scalar import select
from appell.compile.function import Function
from appell.control.blocks import Blocks
from appell.errors import ArgumentError
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.device import DeviceInfo, DeviceStatus, JointCommand, JointState

COMMON = ("time", "power", "hardware_fault")
PER_ACTUATOR = ("counts", "index_counts", "index_seen", "volts", "hot")
GAP_SMOOTHING = 0.1  # per reading, of the difference between encoder and potentiometer
GAP_LIMIT = {"rad": 0.06, "m": 0.02}  # difference between encoder and potentiometer
SEARCH_REVOLUTIONS = 1.5  # of every motor in the index search
MAX_CORRECTION = 0.35  # of a pitch; with a larger correction, k could be wrong


def signal_blocks(actuators: int) -> Blocks:
    """Return the layout of the signals of one reading."""
    return Blocks(**dict.fromkeys(COMMON, 1), **dict.fromkeys(PER_ACTUATOR, actuators))


def cabinet_info(wiring: Wiring, heartbeat: float = 0.02) -> DeviceInfo:
    """Return what a cabinet declares: it measures positions only, and its converters round torques."""
    return DeviceInfo(
        name=wiring.name,
        actuators=wiring.names,
        heartbeat=heartbeat,
        safe_state="brakes",
        lower=tuple(wiring.column("lower").tolist()),
        upper=tuple(wiring.column("upper").tolist()),
        torque=tuple(wiring.reachable_torque.tolist()),
        measures=("q",),
        resolution=tuple(wiring.torque_per_code.tolist()),
    )


class SignalConverter:
    """Converts the signals of a cabinet to joint states and torques to codes, and determines the encoders' offsets."""

    def __init__(self, wiring: Wiring):
        self.wiring, self.layout = wiring, signal_blocks(wiring.n)
        self.signals = np.zeros(self.layout.size)
        self.travel = SEARCH_REVOLUTIONS * wiring.column("index_pitch")
        self.codes = np.full(wiring.n, wiring.zero_code)
        self._per_code = wiring.torque_per_code
        self._decode: Any = self._function().bind()
        self._end = 2 + wiring.n
        self.forget()

    def forget(self) -> None:
        """Discard the offsets; they are determined again from the next readings."""
        self._sum, self._readings, self._collecting = np.zeros(self.wiring.n), 0, True
        self._decode.gap_next[:] = 0.0

    def enabled(self) -> None:
        """Keep the offsets from now on, because the amplifiers are on and the arm can move."""
        self._collecting = False
        self._decode.gap_next[:] = 0.0

    def decode(self, signals: np.ndarray, state: JointState) -> None:
        """Fill a state from signals, (1) and (2)."""
        decode = self._decode
        decode.signals[:] = self.signals[:] = signals
        decode.gap[:] = decode.gap_next
        if self._collecting:
            self._collect()
        decode()
        if decode.measured[0] != decode.measured[0]:  # a signal is not a number: all results are not numbers
            decode.gap_next[:] = decode.gap
            state.numbers[:2] = signals[0], 0.0
            state.q[:], state.faults[:] = self._by_counts() + decode.offset, 0.0
            return
        state.numbers[: self._end] = decode.measured
        state.faults[:] = decode.faults

    def encode(self, command: JointCommand) -> np.ndarray:
        """Return the codes of a command, (3)."""
        np.divide(command.tau, self._per_code, out=self.codes)
        np.rint(self.codes, out=self.codes)
        self.codes += self.wiring.zero_code
        return self.codes

    def home(self) -> np.ndarray:
        """Determine the offsets by the index pulses that have passed, (4), and return the positions."""
        self._decode.offset[:] = refined_offset(self.wiring, self.layout, self.signals, self._decode.offset)
        return self._by_counts() + self._decode.offset

    def _by_counts(self) -> np.ndarray:
        return (self.signals[self.layout.at["counts"]] + 0.5) / self.wiring.column("resolution")

    def _collect(self) -> None:
        """Add a reading of the potentiometers to their mean."""
        reading = self.wiring.position(self.signals[self.layout.at["volts"]]) - self._by_counts()
        if np.isfinite(reading).all():
            self._sum += reading
            self._readings += 1
            self._decode.offset[:] = self._sum / self._readings

    def _function(self) -> Function:
        n, layout, wiring = self.wiring.n, self.layout, self.wiring
        limits = [GAP_LIMIT[unit] for unit in wiring.units]
        span = ((wiring.column("upper") - wiring.column("lower")) / wiring.potentiometer_volts).tolist()
        resolution = wiring.column("resolution").tolist()

        def body(signals, offset, gap) -> dict[str, Any]:
            at = layout.at
            time, power, tripped = (signals[at[name]][0] for name in COMMON)
            theta = [(c + 0.5) / r + o for c, r, o in zip(signals[at["counts"]], resolution, offset, strict=True)]
            rows = zip(wiring.channels, span, signals[at["volts"]], strict=True)
            other = [channel.lower + scale * volts for channel, scale, volts in rows]
            gap = [g + GAP_SMOOTHING * (x - y - g) for g, x, y in zip(gap, theta, other, strict=True)]
            status = select(0.5 - power, float(DeviceStatus.NO_POWER), 0.0)
            status = status + select(tripped - 0.5, float(DeviceStatus.WATCHDOG), 0.0)
            faults = [
                select(abs(g) - most, float(DeviceStatus.SENSOR_FAULT), 0.0)
                + select(hot - 0.5, float(DeviceStatus.HOT), 0.0)
                for g, most, hot in zip(gap, limits, signals[at["hot"]], strict=True)
            ]
            return {"measured": [time, status, *theta], "gap_next": gap, "faults": faults}

        inputs = {"signals": layout.size, "offset": n, "gap": n}
        return Function.of("cabinet_decode", inputs, body, f"The joint state of {wiring.name}.", wiring.name)


def refined_offset(wiring: Wiring, layout: Blocks, signals: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the offsets (4) of actuators that have all passed an index pulse."""
    seen = layout.take(signals, "index_seen") > 0.5
    if not seen.all():
        name = wiring.names[int(np.argmin(seen))]
        raise ArgumentError(
            f"actuator '{name}' has not passed an index pulse yet.", hint="Follow homing_motion(...) first."
        )
    resolution, pitch, home = (wiring.column(name) for name in ("resolution", "index_pitch", "home"))
    at_pulse = layout.take(signals, "index_counts") / resolution
    turns = np.round((at_pulse + offset - home) / pitch)
    exact = home + turns * pitch - at_pulse
    wrong = np.abs(exact - offset) > MAX_CORRECTION * pitch
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ArgumentError(
            f"the potentiometer of actuator '{wiring.names[k]}' has an error of {abs(exact[k] - offset[k]):.3g} rad, "
            f"too large to identify the revolution of the motor.",
            expected=f"at most {MAX_CORRECTION * pitch[k]:.3g} rad",
            hint="Calibrate the potentiometer.",
        )
    return exact
