"""MuJoCo in a C loop, without contacts and constraints: only its recursions.

Its only derivatives are finite differences, which are accurate to a few digits, and it has no regressor.
"""

from __future__ import annotations

import ctypes

import numpy as np

from appell.model.robot import Robot
from appell_lab.bench.peers.builds import (
    SOURCES,
    TARGET,
    BuildFolder,
    compiler,
    compiler_version,
    optimised,
    package_folder,
    package_version,
)
from appell_lab.bench.peers.library import RobotHandles, bound, library
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.peers.peer import Peer, PeerUnavailableError, Prepared, States
from appell_lab.bench.peers.quantities import TITLES, driver_arguments, shapes
from appell_lab.bench.subject import Subject

SUPPORTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


class MujocoC(Peer):
    """Compiled C around the library of the wheel."""

    name = "MuJoCo C"

    def __init__(self, builds: BuildFolder):
        self.builds = builds
        self._robots = RobotHandles()

    def version(self) -> str:
        return package_version("mujoco")

    def flags(self) -> str:
        return f"library of the wheel; {compiler_version('gcc')}, {' '.join(optimised())}"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        if quantity not in SUPPORTED:
            raise PeerUnavailableError(f"MuJoCo has no exact {TITLES[quantity]}.")
        robot, compiled, count = subject.robot, self._library(), len(states["q"])
        path = self.builds.keep(f"{subject.name}.xml", mjcf(robot))
        handle = self._robots.handle(compiled, subject.name, str(path), "MuJoCo")
        layout = MujocoLayout(robot, states["q"])
        given = [np.ascontiguousarray(layout.given(name, states)) for name in driver_arguments(quantity)]
        (shape,) = shapes(quantity, robot.nv, len(robot.links))
        result = np.zeros((count, *shape))
        run = bound(getattr(compiled, quantity), handle, count, [*given, result])
        return Prepared(run, lambda: (layout.ours(quantity, result, states),))

    def _library(self) -> ctypes.CDLL:
        folder = package_folder("mujoco")
        shared = sorted(folder.glob("libmujoco*"))
        if not shared:
            raise PeerUnavailableError("the package mujoco contains no library to link with.")
        source = SOURCES / "mujoco_batch.c"
        command = [compiler("gcc"), *optimised(), "-fPIC", "-shared", "-w", f"-I{folder / 'include'}"]
        command += [str(source), str(shared[-1]), f"-Wl,-rpath,{folder}", "-o", TARGET]
        return library(self.builds.make("mujoco.so", command, [source], "MuJoCo's driver"))


class MujocoLayout:
    """Conversion to the coordinates of MuJoCo: links depth first, and a free base in world axes."""

    def __init__(self, robot: Robot, q: np.ndarray):
        names: list[str] = []
        children: dict[str | None, list[str]] = {}
        for link in robot.links:
            children.setdefault(link.parent, []).append(link.name)

        def visit(name: str) -> None:
            names.append(name)
            for child in children.get(name, []):
                visit(child)

        for root in children[None]:
            visit(root)
        spans = [robot.span(robot.link(name).joint) for name in names]
        self.of_q = np.concatenate([np.arange(robot.nq)[at_q] for at_q, _ in spans])
        self.of_v = np.concatenate([np.arange(robot.nv)[at_v] for _, at_v in spans])
        self.free = robot.links[0].joint.motion.name == "floating"
        if self.free:
            from scipy.spatial.transform import Rotation

            self.R = Rotation.from_quat(q[:, 3:7]).as_matrix()

    def given(self, name: str, states: States) -> np.ndarray:
        """Return q, v, a or tau in the layout of MuJoCo."""
        x = states[name].copy()
        if self.free:
            if name == "q":
                x[:, 3:7] = np.roll(x[:, 3:7], 1, axis=1)  # real part first
            else:
                if name == "a":
                    x[:, :3] += np.cross(states["v"][:, 3:6], states["v"][:, :3])
                x[:, :3] = np.einsum("nij,nj->ni", self.R, x[:, :3])
        return x[:, self.of_q if name == "q" else self.of_v]

    def ours(self, quantity: str, result: np.ndarray, states: States) -> np.ndarray:
        """Return a result of MuJoCo in the layout of appell."""
        ours = np.empty_like(result)
        if quantity == "mass_matrix":
            ours[:, self.of_v[:, None], self.of_v] = result
        else:
            ours[:, self.of_v] = result
        if not self.free:
            return ours
        T = np.tile(np.eye(ours.shape[1]), (len(ours), 1, 1))
        T[:, :3, :3] = np.swapaxes(self.R, 1, 2)
        if quantity == "mass_matrix":
            return T @ ours @ np.swapaxes(T, 1, 2)
        ours = np.einsum("nij,nj->ni", T, ours)
        if quantity == "forward_dynamics":
            ours[:, :3] -= np.cross(states["v"][:, 3:6], states["v"][:, :3])
        return ours
