"""Run a command as on a machine without compilers, emulators, browsers, ffmpeg and Node.js.

    python .ci/bare.py make test

The command gets a PATH of one temporary folder, with links to every program of the current PATH except the hidden ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HIDDEN = re.compile(
    r"(.*-)?(gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|c89|c99)(-[\d.]+|-gcc|-cc)?"  # compilers, including cross compilers
    r"|(ffmpeg|ffprobe|node|nodejs|npm|npx|tsc|chrom.*|google-chrome.*|qemu.*|arm-none-eabi-.*|aarch64-linux-gnu-.*)"
)


def visible_programs() -> dict[str, Path]:
    """Return the programs of the PATH by name, without the hidden ones; the first folder takes precedence."""
    programs: dict[str, Path] = {}
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for path in folder.iterdir() if folder.is_dir() else ():
            if not HIDDEN.fullmatch(path.name) and os.access(path, os.X_OK) and path.is_file():
                programs.setdefault(path.name, path)
    return programs


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="appell-bare-") as folder:
        for name, path in visible_programs().items():
            Path(folder, name).symlink_to(path.absolute())
        environment = {name: value for name, value in os.environ.items() if name != "APPELL_PROGRAMS"}
        return subprocess.run(sys.argv[1:], env=environment | {"PATH": folder}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
