"""Letters that a terminal lacks, as letters that every terminal has: ∞ as inf, … as ..., é as e."""

from __future__ import annotations

import codecs
import unicodedata

LIKEST = "appell-likest"  # the name of the way, for errors=
LIKE = str.maketrans(
    {
        **{"∞": "inf", "…": "...", "≤": "<=", "≥": ">=", "·": "*", "×": "x", "°": " deg", "µ": "u", "–": "-", "█": "#"},
        **{"τ": "tau", "θ": "theta", "ψ": "psi", "π": "pi", "Σ": "sum", "∂": "d", "─": "-", "━": "-", "▏": "|"},
    }
)


def in_letters_of(encoding: str, text: str) -> str:
    """The text as it will be read where it is written in this encoding."""
    return text if encoding.startswith("utf") else text.encode(encoding, LIKEST).decode(encoding)


def _likest(error: UnicodeError) -> tuple[str, int]:
    """What stands in for the letters that could not be written."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end].translate(LIKE)
    plain = "".join(x for x in unicodedata.normalize("NFKD", letters) if not unicodedata.combining(x))
    return "".join(x if x.isascii() else "?" for x in plain), error.end


codecs.register_error(LIKEST, _likest)
