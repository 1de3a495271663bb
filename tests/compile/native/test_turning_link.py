"""A forger who reads, writes and gives away rights through a link that turns between our folder and a stranger's.

Each of his three steps may find either folder behind the link. All eight ways are gone through: his object is believed
in one of them, where he has read our secret and written into our folder, and taken both rights that he would have lost
from the other. Who can do that needs no cache. In the other seven the object that comes back is right.
"""

import itertools
import os
from pathlib import Path

import pytest

from appell.compile.cache import object_cache as cache
from appell.errors import CacheWarning

KEY, RIGHT, EVIL = "a" * 64, b"the right object", b"the attacker's object"

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs links and modes of files")


def turn(link: Path, target: Path) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    os.replace(fresh, link)


@pytest.mark.filterwarnings("ignore::appell.errors.CacheWarning")
@pytest.mark.parametrize(("read", "write", "open_up"), list(itertools.product(["ours", "theirs"], repeat=3)))
def test_a_forged_entry_is_believed_only_from_one_who_has_our_secret_and_our_folder(
    tmp_path, monkeypatch, read, write, open_up
):
    link = tmp_path / "cache"
    folders = {name: tmp_path / name for name in ("ours", "theirs")}
    monkeypatch.setattr(cache, "_warned", True)
    for folder in folders.values():  # both begin sound: each has a secret and an entry of its own
        monkeypatch.setenv("APPELL_CACHE", str(folder))
        assert cache.fetch(KEY, lambda: RIGHT) == RIGHT
    os.chmod(folders["theirs"], 0o777)
    monkeypatch.setenv("APPELL_CACHE", str(link))
    turn(link, folders[read])
    secret = (link / "secret").read_bytes()
    turn(link, folders[write])
    (link / f"{KEY}.kernel").write_bytes(cache._MAGIC + cache._authentication_code(KEY, EVIL, secret) + EVIL)
    turn(link, folders[open_up])
    os.chmod(link, 0o777)
    found = set()
    for folder in folders.values():
        turn(link, folder)
        found.add(cache.fetch(KEY, lambda: RIGHT))
    assert found == ({RIGHT, EVIL} if (read, write, open_up) == ("ours", "ours", "theirs") else {RIGHT})


def test_what_one_process_makes_beside_a_strangers_folder_mends_ours(tmp_path, monkeypatch):
    """The look finds the stranger's folder, the keeping ours: what is kept is the right object."""
    link, ours, theirs = (tmp_path / name for name in ("cache", "ours", "theirs"))
    monkeypatch.setenv("APPELL_CACHE", str(ours))
    monkeypatch.setattr(cache, "_warned", False)
    cache.fetch(KEY, lambda: EVIL)
    theirs.mkdir()
    os.chmod(theirs, 0o777)
    monkeypatch.setenv("APPELL_CACHE", str(link))
    turn(link, theirs)

    def make() -> bytes:
        turn(link, ours)
        return RIGHT

    with pytest.warns(CacheWarning, match="can be written by other users"):
        assert cache.fetch(KEY, make) == RIGHT
    assert cache.fetch(KEY, lambda: EVIL) == RIGHT
