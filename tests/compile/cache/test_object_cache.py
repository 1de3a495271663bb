"""The disk cache: damage and attacks never change results."""

import importlib
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.compile.cache import object_cache as cache
from appell.compile.cache.object_cache import RELATIVE, Folder
from appell.compile.native import kernels
from appell.errors import CacheWarning
from compile.llvm.tapes import arm_like, random_tape
from compile.ufuncs import make_ufunc

as_user = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write anywhere")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    where = tmp_path / "cache"
    monkeypatch.setenv("APPELL_CACHE", str(where))
    monkeypatch.setattr(cache, "_warned", False)
    return where


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """Names of the functions that are compiled and not loaded."""
    names = []
    real = kernels.assemble

    def assemble(text, target, name):
        if name not in ("direct call", "entry"):  # compiled once per process, for all functions
            names.append(name)
        return real(text, target, name)

    monkeypatch.setattr(kernels, "assemble", assemble)
    return names


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel"))


X = np.random.default_rng(0).uniform(-2, 2, (3, 5, 6))


def test_a_kernel_is_compiled_once_and_then_loaded(folder, made):
    want = make_ufunc(arm_like())(*X)
    assert len(made) == len(entries(folder)) == 1
    np.testing.assert_array_equal(make_ufunc(arm_like())(*X), want)
    assert len(made) == 1
    make_ufunc(arm_like(1))
    assert len(made) == 2


DAMAGE = {
    "empty": lambda content: b"",
    "one byte": lambda content: b"a",
    "truncated": lambda content: content[:-100],
    "head only": lambda content: content[:48],
    "longer": lambda content: content + b"\0",
    "a flipped bit": lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
    "another checksum": lambda content: content[:20] + bytes(8) + content[28:],
    "another magic": lambda content: b"appell kernel 0\n" + content[16:],
    "text": lambda content: b"this is not machine code\n" * 400,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_rebuilt_and_replaced(folder, made, damage):
    want = make_ufunc(arm_like())(*X)
    (path,) = entries(folder)
    good = path.read_bytes()
    path.write_bytes(DAMAGE[damage](good))
    np.testing.assert_array_equal(make_ufunc(arm_like())(*X), want)
    assert len(made) == 2
    assert path.read_bytes() == good


def test_an_entry_under_the_name_of_another_is_not_executed(folder, made):
    make_ufunc(arm_like(1))
    (other,) = entries(folder)
    want = make_ufunc(arm_like())(*X)
    (mine,) = set(entries(folder)) - {other}
    mine.write_bytes(other.read_bytes())
    np.testing.assert_array_equal(make_ufunc(arm_like())(*X), want)
    assert len(made) == 3


def test_an_entry_that_is_a_folder_causes_a_warning(folder, made):
    make_ufunc(arm_like())
    (path,) = entries(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(CacheWarning, match="cannot write"):
        make_ufunc(arm_like())
    assert len(made) == 2


@pytest.mark.parametrize("word", ["off", "0", "OFF"])
def test_the_cache_can_be_switched_off(folder, made, monkeypatch, word):
    monkeypatch.setenv("APPELL_CACHE", word)
    make_ufunc(arm_like())
    make_ufunc(arm_like())
    assert len(made) == 2
    assert not folder.exists()


def test_an_unusable_folder_causes_one_warning_and_correct_results(tmp_path, made, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("APPELL_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(CacheWarning, match="cannot use the cache folder"):
        want = make_ufunc(arm_like())(*X)
    np.testing.assert_array_equal(make_ufunc(arm_like())(*X), want)  # a second warning would raise an error here
    assert len(made) == 2


@as_user
def test_a_folder_that_cannot_be_written_causes_a_warning(folder):
    folder.mkdir(mode=0o500)
    with pytest.warns(CacheWarning, match="cannot write"):
        make_ufunc(arm_like())


def test_a_full_disk_causes_a_warning_and_leaves_nothing_behind(folder, monkeypatch):
    def full(*given, **where):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(CacheWarning, match="No space left"):
        make_ufunc(arm_like())
    assert [path.name for path in folder.iterdir()] == ["secret"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of files")
def test_a_folder_that_others_may_write_is_rejected(folder, made):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="other users"):
        make_ufunc(arm_like())
    assert entries(folder) == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of files")
def test_a_folder_of_another_user_is_rejected(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.warns(CacheWarning, match="another user"):
        make_ufunc(arm_like())


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs modes of files")
def test_an_entry_that_others_may_write_is_rebuilt(folder, made):
    make_ufunc(arm_like())
    (path,) = entries(folder)
    path.chmod(0o666)
    make_ufunc(arm_like())
    assert len(made) == 2
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
def test_an_entry_of_another_user_is_rebuilt(folder, made):
    make_ufunc(arm_like())
    (path,) = entries(folder)
    os.chown(path, 12345, 12345)
    make_ufunc(arm_like())
    assert len(made) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("what", ["entry", "secret"])
def test_a_pipe_instead_of_a_file_does_not_block(folder, made, what):
    make_ufunc(arm_like())
    (path,) = entries(folder) if what == "entry" else [folder / "secret"]
    path.unlink()
    os.mkfifo(path)
    make_ufunc(arm_like())
    assert len(made) == 2
    assert path.is_file()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_an_entry_that_is_a_link_is_not_followed(folder, made, tmp_path):
    make_ufunc(arm_like())
    (path,) = entries(folder)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    make_ufunc(arm_like())
    assert len(made) == 2
    assert not path.is_symlink()


def test_an_entry_with_another_secret_is_rebuilt(folder, made):
    make_ufunc(arm_like())
    (path,) = entries(folder)
    forged = path.read_bytes()
    (folder / "secret").unlink()
    make_ufunc(arm_like())
    assert len(made) == 2
    assert path.read_bytes() != forged
    make_ufunc(arm_like())
    assert len(made) == 2


@pytest.mark.parametrize("secret", [b"", b"short", bytes(33)])
def test_a_damaged_secret_is_replaced(folder, made, secret):
    make_ufunc(arm_like())
    (folder / "secret").write_bytes(secret)
    make_ufunc(arm_like())
    assert len(made) == 2
    assert len((folder / "secret").read_bytes()) == 32


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs modes of files")
def test_a_secret_that_others_can_read_is_replaced(folder, made):
    make_ufunc(arm_like())
    before = (folder / "secret").read_bytes()
    (folder / "secret").chmod(0o644)
    make_ufunc(arm_like())
    assert len(made) == 2
    assert (folder / "secret").read_bytes() != before


@pytest.mark.skipif(not RELATIVE, reason="this system cannot open a file relative to a folder")
def test_a_folder_swapped_after_the_check_is_not_used(folder, made, tmp_path, monkeypatch):
    make_ufunc(arm_like())
    (mine,) = entries(folder)
    planted = tmp_path / "planted"
    shutil.copytree(folder, planted)
    (planted / mine.name).write_bytes(b"appell kernel 2\n" + bytes(32) + b"evil")
    check = Folder.distrust

    def swapping(self):
        problem = check(self)
        if not folder.is_symlink():
            folder.rename(tmp_path / "aside")
            folder.symlink_to(planted)
        return problem

    monkeypatch.setattr(Folder, "distrust", swapping)
    make_ufunc(arm_like())
    assert len(made) == 1  # loaded from the folder that was checked
    make_ufunc(arm_like(1))
    assert len(entries(planted)) == 2  # now the link is checked, and it belongs to this user
    assert len(entries(tmp_path / "aside")) == 1


def test_the_folder_is_accessible_to_its_owner_only(folder):
    make_ufunc(arm_like())
    if os.name == "posix":
        assert folder.stat().st_mode & 0o777 == 0o700


def test_the_default_folder_is_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("APPELL_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.chosen_path() == tmp_path / "appell"


def test_the_oldest_entries_are_deleted_first(folder):
    folder.mkdir()
    for age in range(10):
        path = folder / f"{age}.kernel"
        path.write_bytes(bytes(100))
        os.utime(path, (1000 - age, 1000 - age))
    with Folder(folder) as opened:
        cache.prune(opened, limit=1000)
        assert len(entries(folder)) == 10
        cache.prune(opened, limit=999)
    assert sorted(int(path.stem) for path in entries(folder)) == [0, 1, 2, 3, 4, 5, 6]


SCRIPT = """
import sys, numpy as np
sys.path[:0] = {path!r}
from compile.llvm.tapes import arm_like
from compile.ufuncs import make_ufunc
x = np.linspace(-1, 1, 6)
print([make_ufunc(arm_like(seed))(x, x, x).tolist() for seed in range(3)])
"""


def test_processes_that_compile_the_same_thing_at_once_all_succeed(folder):
    tests = Path(__file__).parents[2]
    script = SCRIPT.format(path=[str(tests), str(tests.parent / "src")])
    command = [sys.executable, "-W", "error", "-c", script]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(set(printed)) == 1
    assert len(entries(folder)) == 3
    assert len(list(folder.iterdir())) == 4  # the secret among them


def test_a_valid_cache_causes_no_warning(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_ufunc(random_tape(0, 30))


SINE = """
import sys
sys.path.insert(0, sys.argv[1])
import appell as ap
print(ap.Function.of("f", {"x": (1,)}, lambda x: {"y": [ap.sin(x[0])]})([0.5])[0])
"""


def sine(source: Path) -> float:
    done = subprocess.run([sys.executable, "-c", SINE, str(source)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_a_changed_coefficient_of_the_sine_changes_the_key(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    package = Path(appell.__file__).parent
    assert abs(sine(package.parent) - np.sin(0.5)) < 1e-16
    shutil.copytree(package, tmp_path / "appell", ignore=shutil.ignore_patterns("__pycache__"))
    assert sine(tmp_path) == sine(package.parent)
    assert len(entries(folder)) == 2  # the kernel and the direct call: a copy that is the same shares them
    text = tmp_path / "appell" / "compile" / "llvm" / "trigonometry.py"
    changed = text.read_text(encoding="utf-8").replace("-0.1666666666666663", "-0.1666666666666763", 1)
    assert changed != text.read_text(encoding="utf-8")
    text.write_text(changed, encoding="utf-8")
    # r³ times the change of the coefficient is 1e-15, ten units of the last place
    assert sine(tmp_path) != sine(package.parent)
    assert len(entries(folder)) == 4  # other sources of the emitter: both are compiled again


@pytest.mark.parametrize("module", ["llvm.lanes", "llvm.schedule", "llvm.operands", "native.machine", "tape.ops"])
def test_a_kernels_key_covers_the_source_of(module, monkeypatch):
    imported = importlib.import_module(f"appell.compile.{module}")
    before = kernels.emitter_digest.__wrapped__()
    real = type(imported.__loader__).get_data
    monkeypatch.setattr(
        type(imported.__loader__), "get_data", lambda self, path: real(self, path) + b"#" * (path == imported.__file__)
    )
    assert kernels.emitter_digest.__wrapped__() != before
