"""Study folders in which something is edited: a study that computes other results must have another identity.

The reference is the study itself, which is run before and after the edit. Edits that change nothing but the text
(comments, docstrings, spaces, unused code) must not change the identity, and neither must running the study.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from appell_lab.fuzz.study_folders import HARMLESS, IMPORTS, WAYS, folder, harmless, outcome
from appell_lab.fuzz.target import Case, Target, Verdict


class Studies(Target):
    """Edited study folders."""

    name = "studies"
    about = "edits of study folders: other results have another identity, harmless edits have the same"
    seconds = 5.0
    share = 0.3

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 31])
        style = str(rng.choice(list(IMPORTS)))
        way = {"way": str(rng.choice(list(WAYS))), "depth": int(rng.integers(0, 4)), "style": style}
        numbers = rng.uniform(0.5, 9.5, 2).round(3).tolist()
        edit = str(rng.choice(list(HARMLESS))) if rng.random() < 0.3 else ""
        return {**way, "numbers": numbers, "edit": edit}

    def check(self, case: Case) -> Verdict:
        before = folder(case["way"], case["numbers"][0], case["depth"], case["style"])
        changed = folder(case["way"], case["numbers"][1], case["depth"], case["style"])
        after = harmless(before, case["edit"]) if case["edit"] else changed
        with tempfile.TemporaryDirectory() as directory:
            old, old_hashes = outcome(before, Path(directory) / "before")
            new, new_hashes = outcome(after, Path(directory) / "after")
        noticed = old_hashes != new_hashes
        if old != new and not noticed:
            return Verdict(f"not noticed: {case['way']}, {case['style']}", f"missed {case['way']}")
        if case["edit"] and (noticed or old != new):
            return Verdict(f"noticed although harmless: {case['edit']}", f"harmless {case['edit']}")
        kind = "harmless edits not noticed" if case["edit"] else "changes noticed"
        return Verdict(counts={kind: 1, f"through {case['depth']} modules": 1})

    def smaller(self, case: Case) -> Iterator[Case]:
        for change in ({"depth": 0}, {"depth": 1}, {"style": "import"}, {"way": "constant"}):
            if not change.items() <= case.items():
                yield case | change
