"""One row of the table: appell and every available peer, timed in turns on one core, together with the reference loop.

Before timing, all results of all samples are compared, to AGREEMENT relative to the largest entry of the sample.
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
from appell_lab.bench.peers.peer import Peer, PeerUnavailableError, Prepared, States
from appell_lab.bench.peers.quantities import ARGUMENTS, OURS, PeerRow
from appell_lab.bench.subject import Subject, random_states

AGREEMENT = 1e-9


@dataclass(frozen=True)
class Comparison:
    """Measured times for one sample, s; the field names are keys of the JSON files."""

    row: PeerRow
    ours: Timing
    peers: dict[str, Timing]
    shown: tuple[str, ...]  # peers that are shown but not counted
    refusals: dict[str, str]  # why peers are not available
    errors: dict[str, float]  # of each peer, relative to the largest entry of a sample
    anchor: Timing  # one step of the reference loop
    peak: Timing  # one fused multiply-add of a register, at the peak of the machine
    multiplications: int  # per register of samples
    width: int  # samples per register

    @property
    def best(self) -> str | None:
        """The fastest counted peer."""
        counted = {name: timing.best for name, timing in self.peers.items() if name not in self.shown}
        return min(counted, key=counted.__getitem__) if counted else None

    @property
    def ratio(self) -> float | None:
        """Speedup over the best peer."""
        return None if self.best is None else self.peers[self.best].best / self.ours.best

    @property
    def fraction(self) -> float | None:
        """Fraction of the peak of the machine; for batches only, because a single sample does not fill a register."""
        return None if self.row.one_call else self.multiplications / self.width * self.peak.best / self.ours.best

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return asdict(self) | {"best": self.best, "ratio": self.ratio, "fraction": self.fraction}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Comparison:
        """Return the comparison of the data from `to_json`."""
        fields = {key: value for key, value in data.items() if key not in ("best", "ratio", "fraction")}
        fields |= {key: Timing(**data[key]) for key in ("ours", "anchor", "peak")}
        fields |= {"row": PeerRow(**data["row"]), "shown": tuple(data["shown"])}
        fields["peers"] = {name: Timing(**timing) for name, timing in data["peers"].items()}
        return Comparison(**fields)


def compare(
    row: PeerRow, subject: Subject, peers: Sequence[Peer], turns: int, tick: Callable[[], object]
) -> Comparison:
    """Measure one row.

    Parameters
    ----------
    row : quantity, robot and batch size
    subject : the robot
    peers : programs to compare with
    turns : number of timed repetitions; the best counts
    tick : called after every repetition
    """
    states = random_states(subject, row.batch)
    function = OURS[row.quantity](subject.dynamics)
    packed = function.packed() if row.quantity == "regressor" else None
    timed = function if packed is None else packed.function
    given = [states[name] for name in ARGUMENTS[row.quantity]]
    out = tuple(np.empty((row.batch, *array.shape)) for array in timed.outputs)
    timed(*given, out=out)
    our_results = out if packed is None else (_full_regressor(subject, packed, out[0]),)

    prepared_peers, refusals, errors = _prepare(row, subject, peers, states, our_results)
    statements = {name: TimedStatement("f()", {"f": prepared.run}) for name, prepared in prepared_peers.items()}
    samples = dict.fromkeys(prepared_peers, row.batch)
    if row.one_call:
        bound: Any = timed.bind()
        for name in ARGUMENTS[row.quantity]:
            getattr(bound, name)[:] = states[name][0]
        statements["ours"], samples["ours"] = TimedStatement("f()", {"f": bound}), 1
    else:
        listed = ", ".join(ARGUMENTS[row.quantity])
        names = dict(zip(ARGUMENTS[row.quantity], given, strict=True))
        statements["ours"] = TimedStatement(f"f({listed}, out=out)", {**names, "f": timed, "out": out})
        samples["ours"] = row.batch
    width = host().register // 8
    for name, loop in (("anchor", anchor()), ("peak", peak(width))):
        statements[name], samples[name] = TimedStatement("f()", {"f": loop.run}), loop.steps
    measured = time_in_turns(statements, turns, tick)
    timings = {name: Timing(t.best / samples[name], t.median / samples[name]) for name, t in measured.items()}
    return Comparison(
        row,
        timings["ours"],
        {name: timings[name] for name in prepared_peers},
        tuple(peer.name for peer in peers if not peer.counted),
        refusals,
        errors,
        timings["anchor"],
        timings["peak"],
        multiplications(timed.fused),
        width,
    )


def _prepare(
    row: PeerRow, subject: Subject, peers: Sequence[Peer], states: States, our_results: Sequence[np.ndarray]
) -> tuple[dict[str, Prepared], dict[str, str], dict[str, float]]:
    """Return the available peers, why the others are not available, and the differences from appell."""
    prepared_peers: dict[str, Prepared] = {}
    refusals: dict[str, str] = {}
    errors: dict[str, float] = {}
    for peer in peers:
        try:
            prepared = peer.prepare(subject, row.quantity, states)
        except PeerUnavailableError as reason:
            refusals[peer.name] = str(reason)
            continue
        prepared.run()
        error = largest_difference(our_results, prepared.results())
        if not error <= AGREEMENT:
            raise AppellError(
                f"{peer.name} differs from appell by {error:.1e} in {row.title} of robot '{row.robot}'; "
                "it is not timed.",
                expected=f"agreement within {AGREEMENT:g} of the largest entry",
            )
        prepared_peers[peer.name], errors[peer.name] = prepared, error
    return prepared_peers, refusals, errors


def largest_difference(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    """Return the largest difference in any sample, relative to the largest entry of the result in that sample."""
    worst = 0.0
    for one, other in zip(ours, theirs, strict=True):
        axes = tuple(range(1, one.ndim))
        scale = np.maximum(np.abs(one).max(axis=axes), 1e-300)
        worst = max(worst, float((np.abs(one - other).max(axis=axes) / scale).max()))
    return worst


def _full_regressor(subject: Subject, packed: Packed, values: np.ndarray) -> np.ndarray:
    """Return Y = Y_b B, from the packed base regressor."""
    return packed.pattern.dense(values) @ subject.dynamics.base_matrix
