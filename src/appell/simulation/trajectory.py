"""What a run gives: samples at every step, the events between them, and the motion at any time.

An event has two samples at its time, before and after; `trajectory(t)` gives the state after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError
from appell.simulation.flow import Units
from appell.simulation.path import Path
from appell.simulation.status import Status


@dataclass(frozen=True)
class Event:
    """Points that met walls at one instant, or changed how they rest on them.

    `kind` is "impact", "rest" (the points come to rest on their walls; `time` is the end of the series of ever smaller
    bounces), "release" (their force would pull), "stick" or "slip" (with friction). `impulses` are along the normals,
    `normal_speeds` are those before the event, negative for an approach; `frictions` are the tangential impulses as
    vectors in the world. `angles` are between velocity and normal before the event, in degrees.
    """

    time: float
    kind: str
    points: tuple[str, ...]
    surfaces: tuple[int, ...]  # for each point, which of the contacts it belongs to
    impulses: np.ndarray
    normal_speeds: np.ndarray
    frictions: np.ndarray
    angles: np.ndarray
    v_before: np.ndarray
    v_after: np.ndarray

    def __str__(self) -> str:
        where = ", ".join(self.points)
        size = f", impulse {', '.join(f'{x:.6g}' for x in self.impulses)} N s" if self.kind == "impact" else ""
        return f"t = {self.time:.9f} s  {self.kind} of {where}{size}"


@dataclass(frozen=True)
class Trajectory:
    """The motion of a robot: arrays along time, events, and how the run ended."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    energy: np.ndarray  # kinetic and potential
    events: list[Event]
    status: Status
    message: str
    path: Path = field(repr=False)
    robot_name: str = ""
    joint_names: tuple[str, ...] = ()
    quaternions: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self.t)} samples, {len(self.events)} events"
        return f"<Trajectory of robot '{self.robot_name}': {span}. {self.message}>"

    @property
    def impacts(self) -> list[Event]:
        return [event for event in self.events if event.kind == "impact"]

    @property
    def finished(self) -> bool:
        return self.status.ok

    def __call__(self, t) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) at a time or an array of times."""
        t = np.asarray(t, float)
        first, last = self.t[0], self.t[-1]
        if not ((t >= first) & (t <= last)).all():
            raise ArgumentError(
                f"the trajectory of robot '{self.robot_name}' has no state at t = {_outside(t, first, last):g}.",
                expected=f"times from {first:g} to {last:g} s",
            )
        nq = self.q.shape[-1]
        if not len(self.path):
            y = np.broadcast_to(np.concatenate([self.q[-1], self.v[-1]]), (*t.shape, nq + self.v.shape[-1]))
        else:
            y = self.path(t)
        q, v = np.array(y[..., :nq]), np.array(y[..., nq:])
        for low, high in self.quaternions:
            q[..., low:high] /= np.linalg.norm(q[..., low:high], axis=-1, keepdims=True)
        at_end = t == last
        if at_end.any():  # the last event may have happened there
            q[at_end], v[at_end] = self.q[-1], self.v[-1]
        return q, v

    # ---- other forms

    def to_xarray(self):
        """The samples as an xarray.Dataset over `time`; events are attributes."""
        try:
            import xarray
        except ImportError:
            raise ArgumentError("to_xarray needs the package xarray.", hint="pip install xarray") from None
        driven = "velocity" if self.tau.shape == self.v.shape else "actuator"
        axes = {"q": "coordinate", "v": "velocity", "tau": driven}
        data: dict[str, Any] = {name: (("time", axis), getattr(self, name)) for name, axis in axes.items()}
        data["energy"] = (("time",), self.energy)
        about: dict[str, Any] = {"robot": self.robot_name, "status": self.status.name, "message": self.message}
        about["events"] = [str(event) for event in self.events]
        return xarray.Dataset(data, coords={"time": self.t}, attrs=about)

    def save(self, path: str | FilePath) -> None:
        """All of it, the motion between samples included, as one .npz file."""
        about = {
            "format": 1,
            "status": self.status.name,
            "message": self.message,
            "robot_name": self.robot_name,
            "joint_names": self.joint_names,
            "quaternions": self.quaternions,
            "events": [
                {"time": e.time, "kind": e.kind, "points": e.points, "surfaces": e.surfaces} for e in self.events
            ],
        }
        arrays = {name: getattr(self, name) for name in _SAMPLES}
        arrays |= {f"path_{name}": getattr(self.path, name) for name in _PATH}
        for k, event in enumerate(self.events):
            arrays |= {f"event{k}_{name}": getattr(event, name) for name in _EVENT}
        with open(path, "wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)

    @staticmethod
    def load(path: str | FilePath) -> Trajectory:
        """What `save` has written."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                about = json.loads(str(stored["about"]))
                events = [
                    Event(
                        time=e["time"],
                        kind=e["kind"],
                        points=tuple(e["points"]),
                        surfaces=tuple(e["surfaces"]),
                        **{name: stored[f"event{k}_{name}"] for name in _EVENT},
                    )
                    for k, e in enumerate(about["events"])
                ]
                return Trajectory(
                    **{name: stored[name] for name in _SAMPLES},
                    events=events,
                    status=Status[about["status"]],
                    message=about["message"],
                    path=Path(*(stored[f"path_{name}"] for name in _PATH)),
                    robot_name=about["robot_name"],
                    joint_names=tuple(about["joint_names"]),
                    quaternions=tuple((low, high) for low, high in about["quaternions"]),
                )
        except (OSError, KeyError, ValueError) as error:
            raise DescriptionError(f"this is not a trajectory: {error}.", source=str(path)) from error

    def plot(self, figure=None):
        """Coordinates, velocities, torques and energy along time, events marked; a matplotlib figure."""
        from appell.simulation.plot import plot

        return plot(self, figure)


_SAMPLES = ("t", "q", "v", "tau", "energy")
_PATH = ("starts", "ends", "stops", "series")
_EVENT = ("impulses", "normal_speeds", "frictions", "angles", "v_before", "v_after")


def quaternion_spans(units: Units) -> tuple[tuple[int, int], ...]:
    return tuple((span.start, span.stop) for span in units.spans)


def _outside(t: np.ndarray, first: float, last: float) -> float:
    return float(t[~((t >= first) & (t <= last))].flat[0])
