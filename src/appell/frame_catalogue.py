"""Functions of frames: where a named place of a system is, and how it moves.

One rule for all of them: with the name of a frame alone they are the Function, with arrays its value.

    dyn.pose("tool")              Function of q                 dyn.pose("tool", q)              4x4 matrices
    dyn.velocity("tool")          Function of (q, v)            dyn.velocity("tool", q, v)       (linear, angular)

`reference` chooses the axes, right after the name or by keyword: LOCAL, the frame's own; LOCAL_WORLD_ALIGNED, its
origin in world axes; WORLD, the point of its body that passes the world's origin, in world axes. The functions of a
frame are made once, and kept by their catalogue alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from appell.catalogue import Catalogue
from appell.compile.differentiate import forward
from appell.compile.function import Function
from appell.compile.tape import Array
from appell.compile.trace import trace
from appell.errors import ArgumentError, unknown_name
from appell.formulate.kinematics import REFERENCES
from appell.model.frame import Frame

Make = Callable[[Frame, str], Function]  # of a frame and a reference


class FrameCatalogue(Catalogue):
    """What a catalogue says of frames."""

    @overload
    def pose(self, frame: str) -> Function: ...
    @overload
    def pose(self, frame: str, q: Any) -> np.ndarray: ...
    def pose(self, frame, *at):
        """The 4x4 pose of a frame in the world: a Function of q, or with q its value."""

        def make(place: Frame, _: str) -> Function:
            doc = f"The 4x4 pose of frame '{place.name}' in the world."
            return self._of("pose", place, "q", lambda e, q: {"pose": e.pose(place, q).matrix}, doc)

        return self._asked("pose", "q", frame, at, "LOCAL", make)

    @overload
    def jacobian(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def jacobian(self, frame: str, q: Any, *, reference: str = ...) -> np.ndarray: ...
    def jacobian(self, frame, *at, reference="LOCAL"):
        """J(q), with the frame's velocity (linear, angular) = J v: a Function, or with q its value."""

        def make(place: Frame, axes: str) -> Function:
            doc = f"J(q), with (linear, angular) velocity of frame '{place.name}' = J v, {axes}."
            return self._of("jacobian", place, "q", lambda e, q: {"J": e.jacobian(place, axes, q)}, doc)

        return self._asked("jacobian", "q", frame, at, reference, make)

    @overload
    def jacobian_rate(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def jacobian_rate(self, frame: str, q: Any, v: Any, *, reference: str = ...) -> np.ndarray: ...
    def jacobian_rate(self, frame, *at, reference="LOCAL"):
        """dJ/dt (q, v), entry by entry: a Function, or with q and v its value."""

        def make(place: Frame, axes: str) -> Function:
            still = self._of("jacobian_rate", place, "q v", lambda e, q, v: {"J": e.jacobian(place, axes, q)})
            doc = f"dJ/dt (q, v) of frame '{place.name}', {axes}."
            return self._along_motion(still, Array("Jdot", (6, self.system.nv)), doc)

        return self._asked("jacobian_rate", "q, v", frame, at, reference, make)

    @overload
    def velocity(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def velocity(self, frame: str, q: Any, v: Any, *, reference: str = ...) -> np.ndarray: ...
    def velocity(self, frame, *at, reference="LOCAL"):
        """The velocity (linear, angular) of a frame in m/s and rad/s: a Function of (q, v), or with them its value."""

        def make(place: Frame, axes: str) -> Function:
            doc = f"The (linear, angular) velocity of frame '{place.name}', {axes}."
            return self._of("velocity", place, "q v", lambda e, q, v: {"V": e.velocity(place, axes, q, v)}, doc)

        return self._asked("velocity", "q, v", frame, at, reference, make)

    @overload
    def acceleration(self, frame: str, reference: str = ...) -> Function: ...
    @overload
    def acceleration(self, frame: str, q: Any, v: Any, a: Any, *, reference: str = ...) -> np.ndarray: ...
    def acceleration(self, frame, *at, reference="LOCAL"):
        """The rate of `velocity`, J a + dJ/dt v: a Function of (q, v, a), or with them its value.

        With LOCAL_WORLD_ALIGNED its first three numbers are the acceleration of the frame's origin, gravity apart.
        """

        def make(place: Frame, axes: str) -> Function:
            still = self._of("acceleration", place, "q v a", lambda e, q, v, a: {"V": e.velocity(place, axes, q, v)})
            doc = f"The rate of the (linear, angular) velocity of frame '{place.name}', {axes}."
            return self._along_motion(still, Array("A", (6,)), doc)

        return self._asked("acceleration", "q, v, a", frame, at, reference, make)

    # ---- the rule

    def _asked(self, kind: str, arguments: str, frame: Any, at: tuple, reference: str, make: Make) -> Any:
        """The function of a kind and a frame, made once; its value if arrays are given."""
        system = self.system
        if not isinstance(frame, str):
            names = system.frame_names
            raise ArgumentError(
                f"{kind} of {system.owner} needs the name of a frame, and was given a {type(frame).__name__}.",
                expected=f'dyn.{kind}("{names[-1]}", {arguments}), with one of the frames {", ".join(names)}',
            )
        if at and isinstance(at[0], str):
            reference, *rest = at
            at = tuple(rest)
        key = kind, frame, known_reference(reference)
        if key not in self._of_frames:
            self._of_frames[key] = make(system.frame(frame), key[2])
        function = self._of_frames[key]
        return function(*at) if at else function

    def _of(self, kind: str, place: Frame, arguments: str, body: Callable, doc: str = "") -> Function:
        return self.function(f"{kind}_{place.name}", arguments, body, doc, inertial=False)

    def _along_motion(self, still: Function, result: Array, doc: str) -> Function:
        """The rate of a function of (q, v) or (q, v, a) while q and v change with v and a."""
        system = self.system

        def changes(q, v, a=None):
            moved = [*system.rate(q, v), *(a or [0.0] * len(v))]
            return {"seed": [[x] for x in moved + [0.0] * len(a or [])]}

        along = trace("along_motion", still.inputs, changes)
        return Function(forward(still.tape, still.name, [along], [result]), doc, system.owner, self.tangents)


def known_reference(reference: str) -> str:
    """The name of a reference, or an error that says which there are."""
    if reference not in REFERENCES:
        raise ArgumentError(unknown_name("reference", str(reference), REFERENCES, "a frame"))
    return reference
