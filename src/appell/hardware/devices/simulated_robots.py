"""Simulated robots that speak the protocol of a real one: `appell control serve ur5.urdf --protocol rtde`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.hardware.devices import make_device, rtde_protocol
from appell.hardware.devices.moteus_frames import UdpBus
from appell.hardware.devices.moteus_server import MoteusServer
from appell.hardware.devices.rtde_server import RtdeServer
from appell.hardware.devices.serving import Endpoint, serve
from appell.model.system import System

PERIOD_S = 2e-3  # between two states of a served robot

PROTOCOLS = ("rtde", "moteus")


def serve_robot(
    system: System,
    protocol: str,
    host: str = "127.0.0.1",
    port: int = 0,
    device: str = "simulated",
    heartbeat: float = 0.1,
    log: Path | None = None,
    seconds: float = np.inf,
    started: Callable[[str], object] | None = None,
) -> None:
    """Serve a simulated robot through a robot protocol, in real time.

    Parameters
    ----------
    system : the robot
    protocol : "rtde" (TCP) or "moteus" (CAN frames in UDP datagrams)
    host, port : address; port 0 is 30004 for RTDE and any free port for moteus
    device : name of the device that simulates the robot, "simulated" or "mujoco"
    heartbeat : time in s without a command after which the robot enters its safe state
    log : file to which every state of the robot is logged
    seconds : time to serve; unlimited by default
    started : called with the address when clients can connect
    """
    if protocol not in PROTOCOLS:
        raise ArgumentError(unknown_name("protocol", protocol, PROTOCOLS, "appell"))
    clock = VirtualClock(MonotonicClock().now())
    made = make_device(device, system, clock, period=PERIOD_S, heartbeat=heartbeat)
    endpoint: Endpoint
    if protocol == "rtde":
        endpoint = RtdeServer(made.info, host, port or rtde_protocol.PORT, _tool_pose(system))
        address = endpoint.address
    else:
        bus = UdpBus(host, port, serve=True)
        endpoint, address = MoteusServer(made.info, bus), bus.address
    if started is not None:
        started(f"{address[0]}:{address[1]}")
    serve(made, clock, endpoint, log, seconds)


def _tool_pose(system: System) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return the pose of the last frame as a function of q: position in m and rotation vector in rad."""
    if not system.frame_names:
        return None
    pose = Dynamics(system).pose(system.frame_names[-1])

    def tool(q: np.ndarray) -> np.ndarray:
        matrix = pose(q)
        return np.concatenate([matrix[:3, 3], Rotation.from_matrix(matrix[:3, :3]).as_rotvec()])

    return tool
