"""The functions that make the mechanisms of the zoo, by name."""

from collections.abc import Callable

from appell.describe.zoo.agile_wrist import agile_wrist
from appell.describe.zoo.delta import delta
from appell.describe.zoo.five_bar import five_bar
from appell.describe.zoo.stewart_gough import stewart_gough
from appell.describe.zoo.three_rrr import three_rrr
from appell.model.mechanism import Mechanism

MECHANISMS: dict[str, Callable[..., Mechanism]] = {
    "agile-wrist": agile_wrist,
    "delta": delta,
    "five-bar": five_bar,
    "stewart-gough": stewart_gough,
    "three-rrr": three_rrr,
}

__all__ = ["MECHANISMS", "agile_wrist", "delta", "five_bar", "stewart_gough", "three_rrr"]
