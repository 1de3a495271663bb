"""Tasks of a robot with several goals: what should reach a target, and how much it counts.

The same tasks serve inverse kinematics (`kinematics.inverse.numerical`) and the whole-body controller
(`control.WholeBody`). A target of `FrameTask` is a 4x4 pose in the world, one of `ComTask` a point in the world.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.model.system import System


@dataclass(frozen=True)
class FrameTask:
    """A frame that should reach a pose, or the position or the orientation of a pose if the other weight is zero.

    Parameters
    ----------
    frame : name of the frame
    position : weight of the position error, 1/m; 0: any position
    rotation : weight of the rotation error, 1/rad; 0: any orientation
    priority : level in inverse kinematics; tasks of level 2 must not disturb those of level 1
    """

    frame: str
    position: float = 1.0
    rotation: float = 1.0
    priority: int = 1

    @property
    def name(self) -> str:
        """Name of the task: that of its frame."""
        return self.frame

    @property
    def rows(self) -> list[int]:
        """Rows of a Jacobian, linear first, that count."""
        return [*range(3 * bool(self.position)), *range(3, 3 + 3 * bool(self.rotation))]


@dataclass(frozen=True)
class ComTask:
    """The centre of mass, which should reach a point.

    Parameters
    ----------
    weight : weight of the error, 1/m
    priority : level in inverse kinematics; tasks of level 2 must not disturb those of level 1
    """

    weight: float = 1.0
    priority: int = 1
    name = "com"


Task = FrameTask | ComTask


def checked_tasks(system: System, tasks: Iterable[Any], kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Return tasks as a tuple; a string is the `FrameTask` of a frame.

    Parameters
    ----------
    system : the robot of the tasks
    tasks : tasks or names of frames
    kinds : classes of tasks that are allowed

    Raises
    ------
    ArgumentError
        If a task is of another class or appears twice, or a weight is negative or not finite.
    ModelError
        If the system does not have a frame.
    """
    checked: tuple[Any, ...] = tuple(FrameTask(task) if isinstance(task, str) else task for task in tasks)
    if not checked:
        raise ArgumentError(f"tasks of {system.owner} is empty.", expected="at least one task")
    for task in checked:
        if not any(isinstance(task, kind) for kind in kinds):
            listed = ", ".join(kind.__name__ for kind in kinds)
            raise ArgumentError(f"a task of {system.owner} is {task!r}.", expected=f"the name of a frame, or {listed}")
        if isinstance(task, FrameTask):
            system.frame(task.frame)
            check_number(f"weight position of the task '{task.name}'", task.position, least=0.0)
            check_number(f"weight rotation of the task '{task.name}'", task.rotation, least=0.0)
            if not task.rows:
                raise ArgumentError(f"both weights of the task '{task.name}' are 0.", expected="a weight above 0")
        else:
            check_number(f"weight of the task '{task.name}'", task.weight, least=0.0, above=True)
        level = getattr(task, "priority", 1)
        if not isinstance(level, int) or isinstance(level, bool) or level < 1:
            raise ArgumentError(f"priority of the task '{task.name}' is {level!r}.", expected="an integer, 1 or more")
    names = [task.name for task in checked]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ArgumentError(
            f"tasks of {system.owner} contain '{twice[0]}' {names.count(twice[0])} times.", expected="each task once"
        )
    return checked


def target_of(task: Any, value: Any, shape: tuple[int, ...], unit: str) -> np.ndarray:
    """Return the target of a task as finite numbers (..., *shape), or raise an ArgumentError that names the task."""
    try:
        target = np.asarray(value, float)
    except (TypeError, ValueError):
        target = np.empty(0)
    if target.shape[-len(shape) :] != shape:
        raise ArgumentError(
            f"the target of the task '{task.name}' has shape {np.shape(value)}.",
            expected=f"{unit} in the last {'axis' if len(shape) == 1 else 'two axes'}, after any batch axes",
        )
    if not np.isfinite(target).all():
        index = [int(k) for k in np.argwhere(~np.isfinite(target))[0]]
        raise ArgumentError(
            f"the target of the task '{task.name}' is {target[tuple(index)]} at index {index}.",
            expected="finite numbers",
        )
    return target
