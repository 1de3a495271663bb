"""A sampled controller: a control law compiled to one function.

    controller = Controller(design)
    tau = controller(q, v, reference)          reference = (q_d, v_d, a_d), of shape (3, n)

Its memory between calls is that of the law, such as the integral of the error, and the last torque; `reset` restores
its initial values. Parameters of the law are arguments of the compiled step and may change between calls.

The same step as C99 code, with bit-identical results:

    code = design.to_c("arm_control")        arm_control_state, arm_control_init, arm_control_step
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.algebra.loops import UNROLLED
from appell.compile.c.signature import identifier
from appell.compile.c.source import CSource, StepMemory, c_step
from appell.compile.function import Function
from appell.control.design import Design
from appell.control.traced_law import TracedLaw
from appell.errors import ArgumentError


def control_function(design: Design) -> Function:
    """Return one control step as a compiled function.

    (q, v, reference, time, sensors, parameters, memory) -> (tau, memory of the next step, demand)

    Sensors, parameters and blocks of the memory are arguments of their names, the blocks of the next step results with
    "_next"; the laws of joints have neither a time, sensors nor parameters.
    """
    n, memory, parameters = design.model.link_nv, design.memory, design.parameter_blocks
    inputs = {"q": design.model.nq, "v": design.model.nv, "reference": (3, n)}
    inputs |= {"time": ()} if isinstance(design.law, TracedLaw) else {}
    inputs |= {**design.sensors, **parameters.sizes, **memory.sizes}

    def body(*values):
        given = dict(zip(inputs, values, strict=False))  # `loops` may follow
        step = design.step(
            given["q"],
            given["v"],
            given["reference"],
            [x for name in memory.at for x in given[name]],
            time=given.get("time", 0.0),
            sensors={name: given[name] for name in design.sensors},
            parameters=[x for name in parameters.at for x in given[name]],
            loops=values[-1] if design.looped else UNROLLED,
        )
        carried = {f"{name}_next": block for name, block in memory.named(step.memory).items() if name != "before"}
        contact = {} if design.observer is None else {"contact": step.contact}
        return {"tau": step.tau, **carried, "demand": step.demand, **contact}

    doc = f"One step of the law '{design.law.name}'."
    return Function.of("control_step", inputs, body, doc, design.model.owner, loops=design.looped)


class Controller:
    """The compiled control law of a design, called once per period.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> arm = ap.load("planar-2r")
    >>> design = ap.control.Design(arm, ap.control.critical(10.0), law="tracking", ahead=0.0)
    >>> controller = ap.control.Controller(design)
    >>> q, v, rest = np.array([0.1, 0.2]), np.zeros(2), np.zeros((2, 2))
    >>> tau = controller(q, v, [[0.1, 0.2], *rest])  # the reference is the state itself
    >>> bool(np.allclose(tau, ap.Dynamics(arm).gravity(q)))
    True
    """

    def __init__(self, design: Design):
        self.design = design
        self.function = control_function(design)
        self._bound: Any = self.function.bind()
        self._carried = [
            (getattr(self._bound, name), getattr(self._bound, "tau" if name == "before" else f"{name}_next"))
            for name in design.memory.at
        ]
        self.parameters: dict[str, np.ndarray] = {}  # may change between two steps
        for name, values in design.parameter_blocks.named(design.parameter_blocks.start).items():
            self.parameters[name] = getattr(self._bound, name)
            self.parameters[name][:] = values
        self._is_traced, self._sensors = isinstance(design.law, TracedLaw), design.sensors
        self.reset()

    def reset(self, tau=None) -> None:
        """Set the memory to its initial values and the last torque to `tau` (None: zero), in N m or N."""
        for (_, after), start in zip(self._carried, self.design.memory.split(self.design.memory.start), strict=True):
            after[:] = start
        self._bound.tau[:] = 0.0 if tau is None else tau

    @property
    def memory(self) -> dict[str, np.ndarray]:
        """Arrays of the law's memory after the last step, by name; assign to their elements to change them."""
        names = [name for name in self.design.memory.at if name != "before"]
        return {name: getattr(self._bound, f"{name}_next") for name in names}

    def __call__(self, q, v, reference, *, time: float = 0.0, **sensors: Any) -> np.ndarray:
        """Return the torque for the next period.

        Parameters
        ----------
        q : array_like, shape (nq,)
        v : array_like, shape (nv,)
        reference : array_like, shape (3, link_nv)
            Desired position, velocity and acceleration of the controlled coordinates, those of the bodies.
        time : float
            In s, for laws that depend on it.
        **sensors : array_like
            The further measurements of the law, by name.

        Returns
        -------
        ndarray, shape (nu,)
            In N m or N. The next call overwrites this array.
        """
        bound = self._bound
        bound.q[:], bound.v[:], bound.reference[:] = q, v, reference
        for array, after in self._carried:
            array[:] = after
        if self._is_traced:
            bound.time[...] = time
        if sensors or self._sensors:
            self._sense(sensors)
        bound()
        return bound.tau

    def _sense(self, measured: dict[str, Any]) -> None:
        for name in {**self._sensors, **measured}:
            if name not in measured or name not in self._sensors:
                raise ArgumentError(
                    f"sensor '{name}' of law '{self.design.law.name}' is {'un' if name in measured else 'not '}"
                    f"{'known' if name in measured else 'given'}.",
                    expected=f"the sensors {', '.join(self._sensors) or '(none)'}, as keyword arguments",
                )
            getattr(self._bound, name)[:] = measured[name]

    @property
    def integral(self) -> np.ndarray:
        """Integral of the error, of shape (nv,), in rad s or m s, of a law of joints."""
        return self._bound.integral_next.copy()

    @property
    def contact(self) -> float:
        """Amount by which the residual of the design's observer exceeds its threshold; positive during a contact."""
        return float(self._bound.contact) if self.design.observer is not None else -1.0

    def continuous(self, trajectory: Callable) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
        """Return the law as a torque(t, q, v) for `appell.simulate`: not sampled, without limits and integral action.

        `trajectory(t)` returns the reference (q_d, v_d, a_d).
        """
        memory, others = self.design.memory, self.design.parameter_blocks
        if self._sensors:
            raise ArgumentError(f"law '{self.design.law.name}' has sensors, which are not available in simulate.")
        given = {**memory.named(memory.start), **others.named(others.start)}
        demand = [array.name for array in self.function.outputs].index("demand")
        timed = [0.0] if self._is_traced else []
        fixed = [*timed, *(given[name] for name in (*others.at, *memory.at))]

        def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            if timed:
                fixed[0] = t
            return self.function(q, v, np.array(trajectory(t)), *fixed)[demand]

        return torque


def control_code(design: Design, name: str | None, dtype: Any) -> CSource:
    """Return the control step of a design as C99; `name` is by default the name of the model followed by _control."""
    name = identifier(f"{design.model.name}_control") if name is None else name
    memory = design.memory
    results = ("tau",) if design.observer is None else ("tau", "contact")
    carried = {block: "tau" if block == "before" else f"{block}_next" for block in memory.at}
    return c_step(control_function(design), StepMemory(carried, memory.named(memory.start), results), name, dtype)
