"""Ctrl-C ends the command without a traceback, whatever it is importing or doing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from programs import NEEDS_CTRL_C

COMMAND = """
import sys
from appell.cli.entry import run
sys.argv = ["appell", "simulate", "puma", "--no-friction", "--until", "30000"]
print("started", flush=True)
run()
"""


@NEEDS_CTRL_C
@pytest.mark.parametrize("delay_s", [0.02, 0.2, 0.8])
def test_an_interrupt_ends_the_command_with_code_130_and_no_traceback(delay_s):
    """The first delays fall into imports of the command line, others into those of the command and its run."""
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "started\n"
            time.sleep(delay_s)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        if "Exception ignored in" not in errors:  # Python drops an interrupt during a callback of its import system
            break
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors
