"""The bar of a sweep: jobs done and failed, their rate, and the time that is left; shown on terminals alone."""

from __future__ import annotations

from rich.console import Console

from appell.display.bar import Bar


class SweepBar(Bar):
    """`with SweepBar(total, stored) as bar: bar.count(done, failed)`."""

    def __init__(self, total: int, stored: int, enabled: bool | None = None, console: Console | None = None):
        super().__init__("sweep", total, "jobs", done=stored, enabled=enabled, console=console)
        self.failed = 0

    def count(self, done: int, failed: int) -> None:
        """So many jobs more, and so many failed among them."""
        self.failed += failed
        if self.failed:
            self.label = f"sweep, {self.failed:,} failed"
        self.advance(done)
