"""Regenerate errata.md and paper_measures.json from the folder of a complete run of `appell reproduce`.

appell reproduce --output out && python docs/errata.py out
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from appell_lab.papers import SECTIONS
from appell_lab.papers.closing import measures_of
from appell_lab.papers.ledger.text import markdown
from appell_lab.papers.run_files import stored_runs

if __name__ == "__main__":
    measures = measures_of(stored_runs(Path(sys.argv[1]))[0])
    if missing := [name for name in SECTIONS if name not in measures]:
        sys.exit(f"{sys.argv[1]} lacks the sections {', '.join(missing)}; run: appell reproduce --output {sys.argv[1]}")
    here = Path(__file__)
    rounded = {name: {key: float(f"{x:.5g}") for key, x in values.items()} for name, values in measures.items()}
    text = json.dumps(rounded, indent=1, ensure_ascii=False) + "\n"
    here.with_name("paper_measures.json").write_text(text, encoding="utf-8")
    here.with_suffix(".md").write_text(markdown(rounded), encoding="utf-8")
