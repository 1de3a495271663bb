"""Functions of constrained robots alone: their trees' velocities, and what their rows do.

w is a velocity of the tree, `force` acts along all of them. The rows are those of `system.row_names`, in this order.
"""

from __future__ import annotations

from appell.catalogue import Entry
from appell.compile.function import Function
from appell.frame_catalogue import FrameCatalogue
from appell.model.constrained import refuse_unconstrained


class ConstrainedCatalogue(FrameCatalogue):
    """What a catalogue says of constraints; all of it is refused by name for systems without."""

    tree_velocity = Entry(
        "q v",
        lambda e, q, v: {"w": _constrained(e, "tree_velocity").tree_velocity(q, v)},
        "w(q, v) = N v + n, the velocities of the tree.",
        inertial=False,
    )
    tree_acceleration = Entry(
        "q v a",
        lambda e, q, v, a: {"acceleration": _constrained(e, "tree_acceleration").tree_acceleration(q, v, a)},
        "The accelerations of the tree, dw/dt.",
        inertial=False,
    )
    independent_velocity = Entry(
        "q w",
        lambda e, q, w: {"v": e.independent_velocity(q, w)},
        "v of a velocity w of the tree.",
        inertial=False,
    )
    basis = Entry(
        "q",
        lambda e, q: {"N": _constrained(e, "basis").basis(q)},
        "N(q), with w = N v + n.",
        inertial=False,
    )
    gap = Entry(
        "q",
        lambda e, q: {"gap": _constrained(e, "gap").gap(q)},
        "How far the rows on positions are from being kept, m or 1.",
        inertial=False,
    )
    row_jacobian = Entry(
        "q",
        lambda e, q: {"K": _constrained(e, "row_jacobian").row_jacobian(q)},
        "K(q), with the rates K w + b of every row.",
        inertial=False,
    )
    row_rates = Entry(
        "q w",
        lambda e, q, w: {"rates": e.row_rates(q, w)},
        "K w + b of every row: zero for velocities that keep the constraints.",
        inertial=False,
    )
    witness = Entry(
        "q",
        lambda e, q: {"witness": _constrained(e, "witness").witness(q)},
        "Of every row that carries a force, how far its loop is from a singular configuration: 0 in one, NaN beyond.",
        inertial=False,
    )
    constrained_acceleration = Entry(
        "q w force",
        lambda e, q, w, force, wrenches: {"acceleration": e.constrained_acceleration(q, w, force, wrenches)[0]},
        "The accelerations of the tree for any w that keeps the rows; no velocity has to be independent.",
        pushed=True,
    )
    constraint_multipliers = Entry(
        "q w force",
        lambda e, q, w, force, wrenches: {"multipliers": e.constrained_acceleration(q, w, force, wrenches)[1]},
        "The multipliers of all rows for any w that keeps them; 0 where others imply a row.",
        pushed=True,
    )
    constraint_forces = Entry(
        "q v tau",
        lambda e, q, v, tau, wrenches: {
            "multipliers": _constrained(e, "constraint_forces").constraint_forces(q, v, tau, wrenches)
        },
        "The multipliers of all rows while actuator forces act; 0 where others imply a row.",
        pushed=True,
    )
    mobility = Entry(
        "q",
        lambda e, q: {"P": _constrained(e, "mobility").mobility(q)},
        "P(q), the changes of w that impulses along the tree bring about with all rows kept.",
    )

    def constraint_wrench(self, name: str) -> Function:
        """(force, moment) on the first side of a constraint at its origin, world axes: a Function of (q, v, tau)."""

        def body(e, q, v, tau, wrenches):
            force, moment = _constrained(e, "constraint_wrench").constraint_wrench(name, q, v, tau, wrenches)
            return {"wrench": [*force, *moment]}

        key = ("constraint_wrench", name)
        if key not in self._of_frames:
            doc = f"(force, moment) on the first side of constraint '{name}', in world axes."
            self._of_frames[key] = self.function(f"wrench_{name}", "q v tau", body, doc, pushed=True)
        return self._of_frames[key]


def _constrained(equations, what: str):
    """The equations, if they are of a constrained robot."""
    refuse_unconstrained(equations.system, what)
    return equations
