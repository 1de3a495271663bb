"""Run the benchmark of inverse kinematics and store its results: python benchmarks/inverse_kinematics.py [poses]."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from appell_lab.bench.clock import one_core
from appell_lab.bench.inverse_kinematics import measure
from appell_lab.bench.machine import machine, versions


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with one_core():
        figures = measure(count, 10, lambda: None)
    for figure in figures:
        print(f"{figure.robot:10} {figure.title:55} {figure.value_text:>10}  {figure.details}")
    result = {"machine": machine(), "versions": versions(), "figures": [figure.to_json() for figure in figures]}
    path = Path(__file__).parent / "results" / "inverse-kinematics.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
