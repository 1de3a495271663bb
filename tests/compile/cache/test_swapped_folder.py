"""An attacker reads, writes and changes permissions through a link that switches between our folder and the attacker's.

Each of the three steps may find either folder behind the link; all eight combinations are tested. The forged object is
accepted in one of them: the attacker has read our secret and written to our folder, and has changed the permissions of
the other one. An attacker with these rights does not need the cache. In the other seven the right object is returned.
"""

import itertools
import os
from pathlib import Path

import pytest

from appell.compile.cache import object_cache as cache
from appell.errors import CacheWarning

KEY, RIGHT, EVIL = "a" * 64, b"the right object", b"the attacker's object"

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs links and modes of files")


def redirect(link: Path, target: Path) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    os.replace(fresh, link)


@pytest.mark.filterwarnings("ignore::appell.errors.CacheWarning")
@pytest.mark.parametrize(("read", "write", "open_up"), list(itertools.product(["ours", "theirs"], repeat=3)))
def test_a_forged_entry_is_accepted_only_with_our_secret_and_in_our_folder(tmp_path, monkeypatch, read, write, open_up):
    link = tmp_path / "cache"
    folders = {name: tmp_path / name for name in ("ours", "theirs")}
    monkeypatch.setattr(cache, "_warned", True)
    for folder in folders.values():  # both start valid: each has its own secret and entry
        monkeypatch.setenv("APPELL_CACHE", str(folder))
        assert cache.fetch(KEY, lambda: RIGHT) == RIGHT
    os.chmod(folders["theirs"], 0o777)
    monkeypatch.setenv("APPELL_CACHE", str(link))
    redirect(link, folders[read])
    secret = (link / "secret").read_bytes()
    redirect(link, folders[write])
    (link / f"{KEY}.kernel").write_bytes(cache._MAGIC + cache._authentication_code(KEY, EVIL, secret) + EVIL)
    redirect(link, folders[open_up])
    os.chmod(link, 0o777)
    images = set()
    for folder in folders.values():
        redirect(link, folder)
        images.add(cache.fetch(KEY, lambda: RIGHT))
    assert images == ({RIGHT, EVIL} if (read, write, open_up) == ("ours", "ours", "theirs") else {RIGHT})


def test_an_entry_built_while_the_link_changes_replaces_the_forged_one(tmp_path, monkeypatch):
    """The check finds the attacker's folder, the write ours: the right object is stored."""
    link, ours, theirs = (tmp_path / name for name in ("cache", "ours", "theirs"))
    monkeypatch.setenv("APPELL_CACHE", str(ours))
    monkeypatch.setattr(cache, "_warned", False)
    cache.fetch(KEY, lambda: EVIL)
    theirs.mkdir()
    os.chmod(theirs, 0o777)
    monkeypatch.setenv("APPELL_CACHE", str(link))
    redirect(link, theirs)

    def make() -> bytes:
        redirect(link, ours)
        return RIGHT

    with pytest.warns(CacheWarning, match="can be written by other users"):
        assert cache.fetch(KEY, make) == RIGHT
    assert cache.fetch(KEY, lambda: EVIL) == RIGHT
