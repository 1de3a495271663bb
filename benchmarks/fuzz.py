"""Add up campaigns of `appell fuzz --output`, keep them as results/fuzz.json, and carry the figures into docs/fuzzing.md.

    python benchmarks/fuzz.py robots.json files.json ...

Several files may be of one hunt, with other seeds; what they found is listed as it was found.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "fuzz.json"
PAGE = ROOT / "docs" / "fuzzing.md"
BEGIN, END = "<!-- figures: written by benchmarks/fuzz.py -->", "<!-- end of figures -->"
ASKED = {"robots": 10_000, "files": 200_000, "motions": 20_000, "kills": 500, "cache": 2_000}
LONGEST = 2000  # characters of a case that are kept


def main(*paths: str) -> None:
    found = merged([json.loads(Path(path).read_text(encoding="utf-8")) for path in paths])
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table(found)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def merged(campaigns: list[dict[str, Any]]) -> dict[str, Any]:
    """One campaign of several: cases and counts added, figures at their largest."""
    hunts: dict[str, dict[str, Any]] = {}
    for hunt in (hunt for campaign in campaigns for hunt in campaign["hunts"]):
        for broken in hunt["broken"]:
            broken["case"] = json.dumps(broken["case"])[:LONGEST]
        known = hunts.get(hunt["hunt"])
        if known is None:
            hunts[hunt["hunt"]] = hunt
            continue
        for name in ("cases", "seconds", "broken"):
            known[name] += hunt[name]
        known["slowest"] = max(known["slowest"], hunt["slowest"])
        known["counts"] = dict(Counter(known["counts"]) + Counter(hunt["counts"]))
        for name, figure in hunt["figures"].items():
            known["figures"][name] = max(known["figures"].get(name, figure), figure)
    last = campaigns[-1]
    return {name: last[name] for name in ("date", "machine", "versions")} | {"hunts": list(hunts.values())}


def table(found: dict[str, Any]) -> str:
    """What was tried, how often and how it went."""
    lines = [
        "| hunt | cases | asked for | processor time | slowest case | found in this run |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for hunt in found["hunts"]:
        asked = f"{ASKED[hunt['hunt']]:,}" if hunt["hunt"] in ASKED else ""
        kinds = "; ".join(f"{b['problem'][:80]} ({b['times']}x, seed {b['seed']})" for b in hunt["broken"]) or "nothing"
        cells = (f"{hunt['cases']:,}", asked, f"{hunt['seconds']:,.0f} s", f"{hunt['slowest'][0]:.2f} s", kinds)
        lines.append(f"| {hunt['hunt']} | {' | '.join(cells)} |")
    lines += ["", "| hunt | worst figure | value | seed |", "|---|---|---:|---:|"]
    for hunt in found["hunts"]:
        for name, (value, seed) in sorted(hunt["figures"].items()):
            lines.append(f"| {hunt['hunt']} | {name} | {value:.2g} | {seed} |")
    lines += [""]
    for hunt in found["hunts"]:
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(hunt["counts"].items(), key=lambda x: -x[1]))
        lines.append(f"- *{hunt['hunt']}*: {told}")
    machine, versions = found["machine"], ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    where = f"{machine['cores']} cores of kind {machine['kind']} ({machine['system']}), Python {machine['python']}"
    return "\n".join([*lines, "", f"{found['date']}; {where}; {versions}."])


if __name__ == "__main__":
    main(*sys.argv[1:])
