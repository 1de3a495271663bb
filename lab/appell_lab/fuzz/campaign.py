"""A fuzz campaign: run targets for a given time, collect figures, and reduce every finding to a small case."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from appell.files import write_text
from appell_lab.bench.machine import machine, versions
from appell_lab.fuzz.minimise import MAX_SECONDS, minimise
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.fuzz.worker import Worker

SAVE_INTERVAL_S = 30.0  # interval at which a running campaign is saved


@dataclass
class Finding:
    """A problem: the seed of its first case, the number of cases of its kind, and the smallest case."""

    target: str
    kind: str
    problem: str
    seed: int
    case: Case
    times: int = 1

    @property
    def command(self) -> str:
        """The command that repeats the case."""
        return f"appell fuzz --only {self.target} --case {self.seed}"


@dataclass
class TargetFindings:
    """The cases, figures and findings of one target."""

    target: str
    about: str
    first_seed: int
    cases: int = 0
    seconds: float = 0.0  # processor time of all cases
    slowest: tuple[float, int] = (0.0, 0)  # processor time of the slowest case, s, and its seed
    figures: dict[str, tuple[float, int]] = field(default_factory=dict)  # largest values, and their seeds
    counts: dict[str, int] = field(default_factory=dict)
    broken: list[Finding] = field(default_factory=list)

    def add(self, seed: int, verdict: Verdict, seconds: float) -> bool:
        """Add the verdict on a case; return whether it is a problem of a new kind."""
        self.cases += 1
        self.seconds += seconds
        self.slowest = max(self.slowest, (seconds, seed))
        self.counts = dict(Counter(self.counts) + Counter(verdict.counts))
        for name, value in verdict.figures.items():
            self.figures[name] = max(self.figures.get(name, (0.0, seed)), (value, seed))
        if not verdict.problem:
            return False
        same_kind = [finding for finding in self.broken if finding.kind == verdict.kind]
        for finding in same_kind:
            finding.times += 1
        return not same_kind


@dataclass(frozen=True)
class Bounds:
    """The limits of a campaign; every target runs at least one case."""

    seconds: float = 300.0  # wall-clock time of all targets together
    cases: int | None = None  # per target
    seed: int = 0  # of the first case
    minimising: float = MAX_SECONDS  # for reducing a finding


def run(
    targets: Sequence[Target],
    bounds: Bounds,
    report: Callable[[TargetFindings], None] = lambda _: None,
    path: Path | None = None,
) -> list[TargetFindings]:
    """Run targets one after the other.

    Parameters
    ----------
    targets : the targets; each gets its share of the time
    bounds : limits of the campaign
    report : called with the findings of the current target after every case
    path : file to which the findings are saved during and after the campaign
    """
    all_findings: list[TargetFindings] = []
    shares = sum(target.share for target in targets)
    for target in targets:
        findings = TargetFindings(target.name, target.about, bounds.seed)
        all_findings.append(findings)
        until, saved_at = time.monotonic() + bounds.seconds * target.share / shares, time.monotonic()
        with Worker(target) as worker:
            while not findings.cases or (time.monotonic() < until and findings.cases < (bounds.cases or math.inf)):
                seed = bounds.seed + findings.cases
                verdict, seconds = worker.check(seed)
                if findings.add(seed, verdict, seconds):
                    case, verdict = minimise(target, target.case(seed), verdict, worker, bounds.minimising)
                    findings.broken.append(Finding(target.name, verdict.kind, verdict.problem, seed, case))
                report(findings)
                if path is not None and time.monotonic() - saved_at > SAVE_INTERVAL_S:
                    save(all_findings, path)
                    saved_at = time.monotonic()
    if path is not None:
        save(all_findings, path)
    return all_findings


def content(all_findings: Sequence[TargetFindings]) -> dict[str, Any]:
    """Return date, machine, versions and findings as plain data; times are in s."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    targets = [asdict(findings) for findings in all_findings]
    return {"date": date, "machine": machine(), "versions": versions(), "targets": targets}


def save(all_findings: Sequence[TargetFindings], path: Path) -> None:
    """Write the content as a JSON file."""
    text = json.dumps(content(all_findings), indent=1, ensure_ascii=False, default=str)
    write_text(path, text + "\n", "the findings")
