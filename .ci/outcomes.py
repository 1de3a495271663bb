"""Plugin of pytest: append the outcome of every test to a file, and leave out the tests that the file contains.

    python -m pytest -p outcomes --outcomes FILE tests/model

A process that ends during a test can therefore be started again and continues with the next test. A line of the file
is a list of node, outcome ("running", "passed", "failed", "skipped"; "finished" at the end of a run) and reason.
"""

from __future__ import annotations

import json
from pathlib import Path


def read(path: Path) -> list[tuple[str, str, str]]:
    """Return the lines of such a file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [tuple(json.loads(line)) for line in lines]


def pytest_addoption(parser):
    parser.addoption("--outcomes", type=Path, required=True, help="file for the outcome of every test")


def pytest_configure(config):
    config.pluginmanager.register(Recorder(config.getoption("outcomes")))


class Recorder:
    """Hooks of pytest that write the file."""

    def __init__(self, path: Path):
        self.path = path
        self.recorded = {node for node, *_ in read(path)}

    def write(self, node: str, outcome: str, reason: str = "") -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([node, outcome, reason]) + "\n")

    def write_report(self, report) -> None:
        text = report.longrepr[-1] if isinstance(report.longrepr, tuple) else ""
        self.write(report.nodeid, report.outcome, text.removeprefix("Skipped: "))

    def pytest_collectreport(self, report):
        if report.outcome != "passed" and report.nodeid not in self.recorded:
            self.write_report(report)

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.recorded]

    def pytest_runtest_logstart(self, nodeid):
        self.write(nodeid, "running")

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.write_report(report)

    def pytest_sessionfinish(self):
        self.write("", "finished")
