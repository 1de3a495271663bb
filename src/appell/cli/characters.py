"""Replacement of characters that a terminal cannot show by similar ones: ∞ by inf, … by ..., é by e."""

from __future__ import annotations

import codecs
import unicodedata

SIMILAR = "appell-similar"  # name of the codec error handler
REPLACEMENTS = str.maketrans(
    {
        **{"∞": "inf", "…": "...", "≤": "<=", "≥": ">=", "·": "*", "×": "x", "°": " deg", "µ": "u", "–": "-", "█": "#"},
        **{"τ": "tau", "θ": "theta", "ψ": "psi", "π": "pi", "Σ": "sum", "∂": "d", "─": "-", "━": "-", "▏": "|"},
    }
)


def _similar(error: UnicodeError) -> tuple[str, int]:
    """Replace the characters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end].translate(REPLACEMENTS)
    plain = "".join(x for x in unicodedata.normalize("NFKD", characters) if not unicodedata.combining(x))
    return "".join(x if x.isascii() else "?" for x in plain), error.end


codecs.register_error(SIMILAR, _similar)
