"""Every numbered table, figure and main claim of the five papers with a verdict; one file per paper."""

from __future__ import annotations

from appell_lab.papers.ledger.abedloo import ABEDLOO
from appell_lab.papers.ledger.item import Assumption, Check, Erratum, Item, ItemKind, Ledger, Measures, Ruling
from appell_lab.papers.ledger.mata import MATA
from appell_lab.papers.ledger.provenzano import PROVENZANO
from appell_lab.papers.ledger.shafei import SHAFEI
from appell_lab.papers.ledger.valera import VALERA

LEDGERS: tuple[Ledger, ...] = (PROVENZANO, MATA, VALERA, ABEDLOO, SHAFEI)

__all__ = ["LEDGERS", "Assumption", "Check", "Erratum", "Item", "ItemKind", "Ledger", "Measures", "Ruling"]
