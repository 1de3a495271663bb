"""Entry point of the command `appell`: Ctrl-C ends it with exit code 130 and without a traceback, also during imports.

Importing the command line takes a few tenths of a second. An interrupt in this time must not become an exception,
because modules that are being imported may handle it or report it in their own way; nothing has to be cleaned up yet.
"""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it


def run() -> None:
    """Run the command line."""
    handles_interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in a background job
    if handles_interrupts:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from appell.cli.main import main

    try:
        if handles_interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
