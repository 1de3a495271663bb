"""Run tests and `lab/tools/bits.py` with an aarch64 Python under qemu-user, on Linux x86-64 with apt.

    python .ci/arm.py                                     bits of the zoo, then the tests up to dynamics and laws
    python .ci/arm.py --bits                              bits of the zoo
    python .ci/arm.py tests/compile/llvm tests/laws       some folders

Needed are apt-get, dpkg-deb, Debian's archive keyring and qemu-aarch64; root is not needed. The folder .arm of the
clone receives Debian's Python for arm64 with its libraries (unpacked, not installed) and the aarch64 wheels of the
tests. Its `usr/bin/python` starts the emulator, so that processes which tests start by `sys.executable` are emulated
too. Where the Debian package gcc-aarch64-linux-gnu is installed, the tests find it, and clang, as compilers of the
emulated machine; otherwise tests that compile C are skipped (`find_program` in tests/programs.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import foreign
from foreign import CLONE, InstallationError, Interpreter, run

FOLDER = CLONE / ".arm"
ROOT = FOLDER / "root"
SUITE, VERSION = "bookworm", "3.11"  # of Debian, and of its Python
LIBRARIES = ("libstdc++6", "libgomp1")  # which wheels expect of the system
GLIBC = 36  # wheels for glibc 2.17 up to 2.36, the one of the suite
PROCESSOR = "neoverse-n1"
CROSS = "aarch64-linux-gnu"
OMITTED = (
    "ur-rtde",  # there is no aarch64 wheel
    "torch",  # pip evaluates the markers of its requirements for x86-64, and these have no aarch64 wheels
)
TEST_TIMEOUT_S = 1800
# Cross compilers have no native processor. Linux starts the programs that they build only through the emulator.
COMPILER = """\
#!/bin/sh
previous= output=
for each; do
    shift
    [ "$each" = -march=native ] && each=-mcpu={processor}
    [ "$previous" = -o ] && output=$each
    previous=$each
    set -- "$@" "$each"
done
{command} "$@" || exit
if [ -n "$output" ] && {cross}-readelf --program-headers "$output" 2> /dev/null | grep -q INTERP; then
    mv "$output" "$output.{cross}"
    printf '#!/bin/sh\\nexec qemu-aarch64 -cpu %s -L "%s" "$0.%s" "$@"\\n' {processor} '{root}' {cross} > "$output"
    chmod +x "$output"
fi
"""
FOLDERS = tuple(f"tests/{name}" for name in ("algebra", "model", "compile", "formulate", "dynamics", "laws"))


def mirror() -> str:
    """Return the first archive of the suite among the sources of this machine."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", f"Codename: {SUITE}"]
    sites = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if not sites:
        raise InstallationError(f"apt has no source for Debian {SUITE}; run apt-get update, or add one.")
    return sites[0]


def unpack_debian() -> None:
    """Download Debian's Python and the packages it depends on with an apt of its own, and unpack them."""
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    apt = FOLDER / "apt"
    for path in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
        (apt / path).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "etc/sources.list").write_text(f"deb [signed-by={keyring}] {mirror()} {SUITE} main\n")
    settings = {
        "Dir::Etc": apt / "etc",
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    options = [text for name, value in settings.items() for text in ("-o", f"{name}={value}")]
    run("apt-get", *options, "-qq", "update")
    run("apt-get", *options, "-qq", "-y", "--download-only", "install", f"python{VERSION}", *LIBRARIES)
    for package in (apt / "cache/archives").glob("*.deb"):
        run("dpkg-deb", "-x", package, ROOT)


def install_wheels(requirements: list[str]) -> None:
    """Install the packages of the tests for aarch64."""
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(GLIBC, 16, -1)]
    target = ROOT / f"usr/local/lib/python{VERSION}/dist-packages"
    # Its resolver also warns about packages of this interpreter, which are not those of the target.
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qqq", "install", "--no-compile"]
    run(*pip, "--only-binary=:all:", f"--python-version={VERSION}", *platforms, "--target", target, *requirements)
    foreign.install_lab(target)


def install_compilers() -> Path:
    """Return a folder with gcc, clang and nm for the emulated machine; it is empty without a cross compiler."""
    folder = FOLDER / "compilers"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    commands = {"gcc": f"{CROSS}-gcc", "clang": f"'{shutil.which('clang')}' --target={CROSS}", "nm": f"{CROSS}-nm"}
    if shutil.which(f"{CROSS}-gcc") is None:
        return folder
    for name, command in commands.items():
        if name != "clang" or shutil.which(name):
            path = folder / name
            path.write_text(COMPILER.format(command=command, cross=CROSS, processor=PROCESSOR, root=ROOT))
            path.chmod(0o755)
    return folder


def emulated_python(requirements: list[str]) -> Path:
    """Return the aarch64 Python, which is set up again if the requirements changed."""
    python, stamp = ROOT / "usr/bin/python", FOLDER / "installed"
    wanted = [VERSION, PROCESSOR, "appell-lab", *requirements]
    if not foreign.is_installed(stamp, wanted):
        shutil.rmtree(FOLDER, ignore_errors=True)
        unpack_debian()
        install_wheels(requirements)
        emulator = f"qemu-aarch64 -cpu {PROCESSOR} -L '{ROOT}' -0 '{python}' '{python}{VERSION}'"
        python.write_text(f'#!/bin/sh\nexec {emulator} "$@"\n')
        python.chmod(0o755)
        stamp.write_text("\n".join(wanted), encoding="utf-8")
    return python


def install(subset: bool) -> Interpreter:
    missing = [name for name in ("apt-get", "dpkg-deb", "qemu-aarch64") if shutil.which(name) is None]
    if missing:
        raise InstallationError(f"{', '.join(missing)} not found; install the Debian packages apt, dpkg and qemu-user.")
    python = emulated_python(foreign.requirements(("test", "exchange"), OMITTED, subset))
    environment = {name: value for name, value in os.environ.items() if name != "APPELL_PROGRAMS"}
    search_path = os.pathsep.join(str(CLONE / name) for name in ("src", "lab", ".ci"))
    programs = os.pathsep.join([str(install_compilers()), os.environ["PATH"]])
    environment |= {"PYTHONPATH": search_path, "APPELL_CACHE": str(FOLDER / "cache"), "PATH": programs}
    return Interpreter((str(python),), environment, FOLDER, test_timeout_s=TEST_TIMEOUT_S)


if __name__ == "__main__":
    sys.exit(foreign.main((__doc__ or "").partition("\n")[0], install, FOLDERS))
