"""One row of the table: appell and every peer that can, in turns, on one core, with the anchor among them.

What is timed was compared first: every result of every sample, to AGREEMENT of the largest entry of the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from appell.compile.native.machine import host
from appell.compile.packed import Packed
from appell.errors import AppellError
from appell_lab.bench.clock import TimedStatement, Timing, time_in_turns
from appell_lab.bench.multiplication_count import multiplications
from appell_lab.bench.peers.machine_speed import anchor, peak
from appell_lab.bench.peers.peer import Peer, Prepared, States, PeerUnavailableError
from appell_lab.bench.peers.quantities import ARGUMENTS, OURS, PeerRow
from appell_lab.bench.subject import Subject, random_states

AGREEMENT = 1e-9


@dataclass(frozen=True)
class Comparison:
    """Seconds for one sample, as measured; `refusals` are the sentences of peers that could not take part."""

    row: PeerRow
    ours: Timing
    peers: dict[str, Timing]
    shown: tuple[str, ...]  # peers that do not count
    refusals: dict[str, str]
    errors: dict[str, float]  # of each peer, relative to the largest entry of a sample
    anchor: Timing  # seconds for one step of the chain
    peak: Timing  # seconds for one fused multiplication of a register, at the machine's peak
    multiplications: int
    width: int  # samples in a register

    @property
    def best(self) -> str | None:
        """The fastest peer that counts."""
        counted = {name: timing.best for name, timing in self.peers.items() if name not in self.shown}
        return min(counted, key=counted.__getitem__) if counted else None

    @property
    def ratio(self) -> float | None:
        """How many times faster than the best peer."""
        return None if self.best is None else self.peers[self.best].best / self.ours.best

    @property
    def fraction(self) -> float | None:
        """Of the machine's peak; for batches only, a single sample fills no register."""
        return None if self.row.one_call else self.multiplications / self.width * self.peak.best / self.ours.best

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"best": self.best, "ratio": self.ratio, "fraction": self.fraction}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Comparison:
        known = {key: value for key, value in data.items() if key not in ("best", "ratio", "fraction")}
        known |= {key: Timing(**data[key]) for key in ("ours", "anchor", "peak")}
        known |= {"row": PeerRow(**data["row"]), "shown": tuple(data["shown"])}
        known["peers"] = {name: Timing(**timing) for name, timing in data["peers"].items()}
        return Comparison(**known)


def contest(row: PeerRow, subject: Subject, peers: Sequence[Peer], turns: int, tick: Callable[[], object]) -> Comparison:
    """Measure one row; `tick` is called after every turn."""
    states = random_states(subject, row.batch)
    function = OURS[row.quantity](subject.dynamics)
    packed = function.packed() if row.quantity == "regressor" else None
    called = function if packed is None else packed.function
    given = [states[name] for name in ARGUMENTS[row.quantity]]
    out = tuple(np.empty((row.batch, *array.shape)) for array in called.outputs)
    called(*given, out=out)
    mine = out if packed is None else (_full_regressor(subject, packed, out[0]),)

    ready, refusals, errors = _ready(row, subject, peers, states, mine)
    statements = {name: TimedStatement("f()", {"f": prepared.run}) for name, prepared in ready.items()}
    samples = dict.fromkeys(ready, row.batch)
    if row.one_call:
        bound: Any = called.bind()
        for name in ARGUMENTS[row.quantity]:
            getattr(bound, name)[:] = states[name][0]
        statements["ours"], samples["ours"] = TimedStatement("f()", {"f": bound}), 1
    else:
        listed = ", ".join(ARGUMENTS[row.quantity])
        names = dict(zip(ARGUMENTS[row.quantity], given, strict=True))
        statements["ours"] = TimedStatement(f"f({listed}, out=out)", {**names, "f": called, "out": out})
        samples["ours"] = row.batch
    width = host().register // 8
    for name, loop in (("anchor", anchor()), ("peak", peak(width))):
        statements[name], samples[name] = TimedStatement("f()", {"f": loop.run}), loop.steps
    measured = time_in_turns(statements, turns, tick)
    timings = {name: Timing(t.best / samples[name], t.median / samples[name]) for name, t in measured.items()}
    return Comparison(
        row,
        timings["ours"],
        {name: timings[name] for name in ready},
        tuple(peer.name for peer in peers if not peer.counted),
        refusals,
        errors,
        timings["anchor"],
        timings["peak"],
        multiplications(called.fused),
        width,
    )


def _ready(
    row: PeerRow, subject: Subject, peers: Sequence[Peer], states: States, mine: Sequence[np.ndarray]
) -> tuple[dict[str, Prepared], dict[str, str], dict[str, float]]:
    """The peers that can, with how far they are from us; and why the others cannot."""
    ready: dict[str, Prepared] = {}
    refusals: dict[str, str] = {}
    errors: dict[str, float] = {}
    for peer in peers:
        try:
            prepared = peer.prepare(subject, row.quantity, states)
        except PeerUnavailableError as reason:
            refusals[peer.name] = str(reason)
            continue
        prepared.run()
        error = disagreement(mine, prepared.results())
        if not error <= AGREEMENT:
            raise AppellError(
                f"{peer.name} is {error:.1e} from appell in {row.title} of robot '{row.robot}'; it is not timed.",
                expected=f"agreement within {AGREEMENT:g} of the largest entry",
            )
        ready[peer.name], errors[peer.name] = prepared, error
    return ready, refusals, errors


def disagreement(mine: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    """The largest difference in any sample, relative to the largest entry of that result in that sample."""
    worst = 0.0
    for ours, other in zip(mine, theirs, strict=True):
        axes = tuple(range(1, ours.ndim))
        scale = np.maximum(np.abs(ours).max(axis=axes), 1e-300)
        worst = max(worst, float((np.abs(ours - other).max(axis=axes) / scale).max()))
    return worst


def _full_regressor(subject: Subject, packed: Packed, values: np.ndarray) -> np.ndarray:
    """Y = Y_b B, from the packed base regressor."""
    return packed.pattern.dense(values) @ subject.dynamics.base_matrix
