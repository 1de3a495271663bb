"""MuJoCo from a loop in C, without contacts and constraints: its recursions alone.

It has no derivatives but finite differences, which agree to a few digits only, and no regressor.
"""

from __future__ import annotations

import ctypes

import numpy as np

from appell.model.robot import Robot
from appell_lab.bench.peers.library import RobotHandles, bound, library
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.peers.peer import Peer, Prepared, States, PeerUnavailableError
from appell_lab.bench.peers.quantities import TITLES, driver_arguments, shapes
from appell_lab.bench.peers.builds import (
    OPTIMISED,
    SOURCES,
    TARGET,
    BuildFolder,
    compiler,
    compiler_version,
    package_folder,
    package_version,
)
from appell_lab.bench.subject import Subject

KNOWN = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


class MujocoC(Peer):
    """Compiled C around its library, which is as its wheel has it."""

    name = "MuJoCo C"

    def __init__(self, workshop: BuildFolder):
        self.workshop = workshop
        self._robots = RobotHandles()

    def version(self) -> str:
        return package_version("mujoco")

    def flags(self) -> str:
        return f"its library as its wheel is built; {compiler_version('gcc')}, {' '.join(OPTIMISED)}"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        if quantity not in KNOWN:
            raise PeerUnavailableError(f"MuJoCo has no exact {TITLES[quantity]}.")
        robot, made, count = subject.robot, self._library(), len(states["q"])
        path = self.workshop.keep(f"{subject.name}.xml", mjcf(robot))
        handle = self._robots.handle(made, subject.name, str(path), "MuJoCo")
        layout = MujocoLayout(robot, states["q"])
        given = [np.ascontiguousarray(layout.given(name, states)) for name in driver_arguments(quantity)]
        (shape,) = shapes(quantity, robot.nv, len(robot.links))
        result = np.zeros((count, *shape))
        run = bound(getattr(made, quantity), handle, count, [*given, result])
        return Prepared(run, lambda: (layout.ours(quantity, result, states),))

    def _library(self) -> ctypes.CDLL:
        folder = package_folder("mujoco")
        shared = sorted(folder.glob("libmujoco*"))
        if not shared:
            raise PeerUnavailableError("the package mujoco has no library to link with.")
        source = SOURCES / "mujoco_batch.c"
        command = [compiler("gcc"), *OPTIMISED, "-fPIC", "-shared", "-w", f"-I{folder / 'include'}"]
        command += [str(source), str(shared[-1]), f"-Wl,-rpath,{folder}", "-o", TARGET]
        return library(self.workshop.make("mujoco.so", command, [source], "MuJoCo's driver"))


class MujocoLayout:
    """Our coordinates as MuJoCo's: links depth first, and a free base in world axes."""

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
        """q, v, a or tau as MuJoCo wants them."""
        x = states[name].copy()
        if self.free:
            if name == "q":
                x[:, 3:7] = np.roll(x[:, 3:7], 1, axis=1)  # the real part first
            else:
                if name == "a":
                    x[:, :3] += np.cross(states["v"][:, 3:6], states["v"][:, :3])
                x[:, :3] = np.einsum("nij,nj->ni", self.R, x[:, :3])
        return x[:, self.of_q if name == "q" else self.of_v]

    def ours(self, quantity: str, result: np.ndarray, states: States) -> np.ndarray:
        """A result of MuJoCo's in our layout."""
        found = np.empty_like(result)
        if quantity == "mass_matrix":
            found[:, self.of_v[:, None], self.of_v] = result
        else:
            found[:, self.of_v] = result
        if not self.free:
            return found
        T = np.tile(np.eye(found.shape[1]), (len(found), 1, 1))
        T[:, :3, :3] = np.swapaxes(self.R, 1, 2)
        if quantity == "mass_matrix":
            return T @ found @ np.swapaxes(T, 1, 2)
        found = np.einsum("nij,nj->ni", T, found)
        if quantity == "forward_dynamics":
            found[:, :3] -= np.cross(states["v"][:, 3:6], states["v"][:, :3])
        return found
