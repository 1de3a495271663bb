"""Regenerate errata.md from the ledgers of the papers: `python docs/errata.py`."""

from __future__ import annotations

from pathlib import Path

from appell_lab.papers.ledger.text import markdown

if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(markdown(), encoding="utf-8")
