"""Run all fuzz targets, or merge campaigns of `appell fuzz --output`, and update the figures of docs/fuzzing.md.

    python benchmarks/fuzz.py run FOLDER [SHARE]        all targets with their required cases, or a share of them
    python benchmarks/fuzz.py robots.json files.json ...

A run writes FOLDER/TARGET.json for every target, then results/fuzz.json and the page. A target whose file exists is
skipped, so that a stopped run continues. Several files may belong to the same target, with different seeds. All
findings are listed.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "fuzz.json"
PAGE = ROOT / "docs" / "fuzzing.md"
BEGIN, END = "<!-- figures: written by benchmarks/fuzz.py -->", "<!-- end of figures -->"
REQUIRED_CASES = {
    "robots": 10_000,
    "mechanisms": 300,
    "constraints": 2_000,
    "prescribed": 3_500,  # of which 2,000 have neither redundant nor nearly singular rows
    "wrenches": 2_000,
    "files": 200_000,
    "mjcf": 2_000,
    "round-trips": 1_000,  # of which the first are the files of example-robot-data, on both bases
    "names": 240,  # of 100 exports, some of which are rejected
    "arrays": 3_000,
    "array-likes": 3_000,
    "motions": 20_000,
    "studies": 750,  # of which two thirds change the results
    "kills": 500,
    "cache": 2_000,
}
MAX_CASE_LENGTH = 2000  # characters of a case that are stored


def run_all(folder: str, share: str = "1") -> None:
    """Run every target whose file does not exist in the folder, and merge all files."""
    from appell_lab.fuzz.campaign import Bounds, run
    from appell_lab.fuzz.targets import TARGETS

    paths = {name: Path(folder) / f"{name}.json" for name in TARGETS}
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        if not path.exists():
            part = path.with_suffix(".part")
            run([TARGETS[name]()], Bounds(1e9, math.ceil(REQUIRED_CASES[name] * float(share))), path=part)
            part.rename(path)
            print(name, "done", flush=True)
    main(*map(str, paths.values()))


def main(*paths: str) -> None:
    campaign = merged([json.loads(Path(path).read_text(encoding="utf-8")) for path in paths])
    RESULTS.write_text(json.dumps(campaign, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table(campaign)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def merged(campaigns: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge campaigns: add cases and counts, keep the largest figures."""
    targets: dict[str, dict[str, Any]] = {}
    for target in (target for campaign in campaigns for target in campaign["targets"]):
        for finding in target["broken"]:
            finding["case"] = json.dumps(finding["case"])[:MAX_CASE_LENGTH]
        total = targets.get(target["target"])
        if total is None:
            targets[target["target"]] = target
            continue
        for name in ("cases", "seconds", "broken"):
            total[name] += target[name]
        total["slowest"] = max(total["slowest"], target["slowest"])
        total["counts"] = dict(Counter(total["counts"]) + Counter(target["counts"]))
        for name, figure in target["figures"].items():
            total["figures"][name] = max(total["figures"].get(name, figure), figure)
    last = campaigns[-1]
    return {name: last[name] for name in ("date", "machine", "versions")} | {"targets": list(targets.values())}


def table(campaign: dict[str, Any]) -> str:
    """Return the tables of the page: cases, times, findings, worst figures and counts of all targets."""
    lines = [
        "| target | cases | required | processor time | slowest case | findings of this run |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for target in campaign["targets"]:
        required = f"{REQUIRED_CASES[target['target']]:,}" if target["target"] in REQUIRED_CASES else ""
        kinds = (
            "; ".join(f"{b['problem'][:80]} ({b['times']}x, seed {b['seed']})" for b in target["broken"]) or "nothing"
        )
        times = f"{target['seconds']:,.0f} s", f"{target['slowest'][0]:.2f} s"
        cells = target["target"], f"{target['cases']:,}", required, *times, kinds
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| target | worst figure | value | seed |", "|---|---|---:|---:|"]
    for target in campaign["targets"]:
        for name, (value, seed) in sorted(target["figures"].items()):
            lines.append(f"| {target['target']} | {name} | {value:.2g} | {seed} |")
    lines += [""]
    for target in campaign["targets"]:
        counts = sorted(target["counts"].items(), key=lambda x: -x[1])
        lines.append(f"- *{target['target']}*: {', '.join(f'{name} {count:,}' for name, count in counts)}")
    machine = campaign["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in campaign["versions"].items())
    hardware = f"{machine['cores']} cores of kind {machine['kind']} ({machine['system']}), Python {machine['python']}"
    return "\n".join([*lines, "", f"{campaign['date']}; {hardware}; {versions}."])


if __name__ == "__main__":
    run_all(*sys.argv[2:]) if sys.argv[1:2] == ["run"] else main(*sys.argv[1:])
