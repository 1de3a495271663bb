"""Pinocchio in a Python loop, as a user writes it; used if the C++ loop cannot be built."""

from __future__ import annotations

import numpy as np

from appell_lab.bench.arrange import arranged
from appell_lab.bench.peers.builds import package_version
from appell_lab.bench.peers.peer import Peer, PeerUnavailableError, Prepared, States
from appell_lab.bench.peers.quantities import ARGUMENTS
from appell_lab.bench.subject import Subject, pinocchio

CALLS = {
    "inverse_dynamics": "rnea",
    "forward_dynamics": "aba",
    "mass_matrix": "crba",
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
    "regressor": "computeJointTorqueRegressor",
}


class PinocchioPython(Peer):
    """`[pin.rnea(model, data, q[i], v[i], a[i]) for i in range(N)]`, including call overhead."""

    name = "Pinocchio Python"

    def __init__(self, compiled: Peer):
        self.compiled = compiled

    def version(self) -> str:
        return package_version("pin")

    def flags(self) -> str:
        return "library of the wheel"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        if self._is_built(subject, quantity, states):
            raise PeerUnavailableError(f"{self.compiled.name} is available and faster.")
        twin, call = subject.twin, getattr(pinocchio(), CALLS[quantity])
        model, data = twin.model, twin.data
        given = list(zip(*(list(twin.layout(name, states[name])) for name in ARGUMENTS[quantity]), strict=True))

        def run():
            return [call(model, data, *sample) for sample in given]

        def ours() -> tuple[np.ndarray, ...]:
            copies = [_copied(call(model, data, *sample)) for sample in given]
            results = enumerate(zip(*copies, strict=True))
            return tuple(arranged(twin, quantity, k, np.array(samples)) for k, samples in results)

        return Prepared(run, ours)

    def _is_built(self, subject: Subject, quantity: str, states: States) -> bool:
        try:
            self.compiled.prepare(subject, quantity, states)
        except PeerUnavailableError:
            return False
        return True


def _copied(results) -> tuple[np.ndarray, ...]:
    """Copy results, because Pinocchio returns its internal memory, which the next call overwrites."""
    return tuple(map(np.array, results)) if isinstance(results, tuple) else (np.array(results),)
