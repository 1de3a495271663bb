"""Verdicts on random identifications of twenty robots, compared with the truth (`appell_lab.campaigns.verdicts`).

    python benchmarks/verdicts.py SEED [CASES]

The wrong verdicts of seeds 1 and 2 were examined while the rules of the verdict were chosen.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from multiprocessing import Pool
from pathlib import Path

from appell.errors import AppellError
from appell_lab.bench.machine import machine, versions
from appell_lab.campaigns.verdicts import ROBOTS, Case, confusion, outcome

RESULT = Path(__file__).parent / "results" / "verdicts.json"


def run(case: Case) -> dict:
    """Return the outcome of a case with its processor time, or its error."""
    warnings.simplefilter("ignore")
    start = time.process_time()
    try:
        return outcome(case) | {"seconds_used": time.process_time() - start}
    except AppellError as error:
        return {"number": case.number, "error": str(error)}


def main() -> None:
    seed, cases = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10 * len(ROBOTS)
    results = []
    with Pool(2) as pool:
        for result in pool.imap(run, [Case(number, seed) for number in range(cases)]):
            results.append(result)
            print(result, flush=True)
    outcomes, errors = ([x for x in results if ("error" in x) is flag] for flag in (False, True))
    table = confusion(outcomes)
    print(table, errors)
    result = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.is_file() else {}
    result |= {"machine": machine(), "versions": versions()}
    result[f"seed {seed}"] = {
        "table": table,
        "seconds_per_case": sum(x["seconds_used"] for x in outcomes) / max(len(outcomes), 1),
        "errors": errors,
        "outcomes": outcomes,
    }
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
