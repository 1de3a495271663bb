"""Constants in memory, a whole register each.

An instruction can read an operand from memory instead of a register, but only as it lies there: a number that has to be
spread over all lanes first is an instruction more, and one more register to wait for. A tape has about one constant in
eight operations, so registers full of the same number are laid down beside the code, and long tapes run a twentieth
faster. Where registers are wide the machine spreads a number while it reads it, and nothing is laid down.
"""

from __future__ import annotations

from appell.compile.emit.lanes import NARROW, Lanes


class Constants:
    """The constants of a module, each once, in the order of their first use."""

    def __init__(self, lanes: Lanes):
        self._lanes = lanes
        self._names: dict[str, str] = {}

    def operand(self, value: float) -> tuple[str, bool]:
        """A constant as LLVM takes it, or else the address of a register full of it; and whether it is an address."""
        content = self._lanes.constant(value)
        if value == 0.0 or self._lanes.bytes > NARROW:
            return content, False
        return self._names.setdefault(content, f"@constant{len(self._names)}"), True

    def text(self) -> list[str]:
        """Their definitions, one a line."""
        kind = f"private unnamed_addr constant {self._lanes.real}"
        return [f"{name} = {kind} {content}, align {self._lanes.bytes}" for content, name in self._names.items()]
