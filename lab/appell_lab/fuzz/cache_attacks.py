"""Attacks on a cache folder: functions of a random generator and the attacked cache.

The folder contains an entry under the victim's key. The attacker has an object that must never be returned for this
key: forged with the attacker's own secret, or written by appell itself under another key.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from appell.compile.cache import object_cache as cache

OTHER_USER = 1234  # numeric id of another user; only root can give files to it
FORGED_SECRET = b"attacker's own secret, 32 bytes.."[:32]


@dataclass
class AttackedCache:
    """A cache folder under attack."""

    folder: Path  # the folder in APPELL_CACHE
    key: str  # the victim's key
    right: bytes  # the object that belongs to the victim's key
    evil: bytes  # the attacker's object
    other_key: str  # key under which appell stores the attacker's object

    @property
    def entry(self) -> Path:
        """The file of the victim's key."""
        return self.folder / f"{self.key}.kernel"

    @property
    def other(self) -> Path:
        """The file of the other key."""
        return self.folder / f"{self.other_key}.kernel"

    @property
    def secret(self) -> Path:
        """The file of the secret."""
        return self.folder / "secret"

    def forged(self, secret: bytes = FORGED_SECRET) -> bytes:
        """Return the attacker's object as an entry of the victim's key, valid except for the secret."""
        return cache._MAGIC + cache._authentication_code(self.key, self.evil, secret) + self.evil


def corrupt(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Flip bits of the entry."""
    content = bytearray(attacked.entry.read_bytes())
    for _ in range(int(rng.integers(1, 5)) if content else 0):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    attacked.entry.write_bytes(bytes(content))


def cut(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Truncate the entry."""
    content = attacked.entry.read_bytes()
    attacked.entry.write_bytes(content[: int(rng.integers(max(len(content), 1)))])


def lengthen(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Append random bytes to the entry."""
    attacked.entry.write_bytes(attacked.entry.read_bytes() + rng.bytes(int(rng.integers(1, 100))))


def replay(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Copy an entry that appell wrote under another key."""
    attacked.entry.write_bytes(attacked.other.read_bytes())


def forge(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Replace the entry by a forged one."""
    attacked.entry.write_bytes(attacked.forged())


def splice(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Put the header of the right entry in front of the attacker's object."""
    attacked.entry.write_bytes(attacked.entry.read_bytes()[: cache._HEADER_BYTES] + attacked.evil)


def link(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Replace the entry by a link to another entry, to a forged one elsewhere, or to itself."""
    elsewhere = attacked.folder.parent / "elsewhere"
    elsewhere.write_bytes(attacked.forged())
    target = [attacked.other, elsewhere, attacked.entry][int(rng.integers(3))]
    attacked.entry.unlink()
    attacked.entry.symlink_to(target)


def special_file(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Replace the entry or the secret by a folder or a named pipe."""
    path = attacked.entry if rng.random() < 0.5 else attacked.secret
    path.unlink()
    if rng.random() < 0.5:
        path.mkdir()
    else:
        os.mkfifo(path)


def published_secret(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Make the secret readable by others and forge an entry with it; such a secret must not be trusted."""
    secret = attacked.secret.read_bytes()
    os.chmod(attacked.secret, int(rng.choice([0o644, 0o640, 0o604, 0o666])))
    attacked.entry.write_bytes(attacked.forged(secret))


def planted_secret(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Replace the secret by the attacker's, as a link or as a file of another user."""
    attacked.secret.unlink()
    if rng.random() < 0.5 or os.getuid() != 0:
        hidden = attacked.folder.parent / "planted"
        hidden.write_bytes(FORGED_SECRET)
        os.chmod(hidden, 0o600)
        attacked.secret.symlink_to(hidden)
    else:
        attacked.secret.write_bytes(FORGED_SECRET)
        os.chmod(attacked.secret, 0o600)
        os.chown(attacked.secret, OTHER_USER, OTHER_USER)
    attacked.entry.write_bytes(attacked.forged())


def corrupted_secret(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Replace the secret by random bytes, some of the wrong length."""
    attacked.secret.write_bytes(rng.bytes(int(rng.choice([0, 1, 31, 32, 33, 1000]))))


def foreign_entry(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Make the entry owned or writable by another user, and forge it with the stolen secret."""
    attacked.entry.write_bytes(attacked.forged(attacked.secret.read_bytes()))
    if os.getuid() == 0 and rng.random() < 0.5:
        os.chown(attacked.entry, OTHER_USER, OTHER_USER)
    else:
        os.chmod(attacked.entry, int(rng.choice([0o666, 0o622, 0o620])))


def foreign_folder(rng: np.random.Generator, attacked: AttackedCache) -> None:
    """Make the folder owned or writable by another user, and forge the entry with the stolen secret."""
    attacked.entry.write_bytes(attacked.forged(attacked.secret.read_bytes()))
    if os.getuid() == 0 and rng.random() < 0.5:
        os.chown(attacked.folder, OTHER_USER, OTHER_USER)
    else:
        os.chmod(attacked.folder, int(rng.choice([0o777, 0o770, 0o722])))


def swapped_links(rng: np.random.Generator, attacked: AttackedCache) -> Callable[[], None]:
    """Replace the folder by a link that another process switches continually between it and an attacker's folder."""
    good, bad = attacked.folder.parent / "good", attacked.folder.parent / "bad"
    attacked.folder.rename(good)
    bad.mkdir()
    for name, content in ((attacked.entry.name, attacked.forged()), ("secret", FORGED_SECRET)):
        (bad / name).write_bytes(content)
        os.chmod(bad / name, 0o600)
    if os.getuid() == 0:
        for path in (*bad.iterdir(), bad):
            os.chown(path, OTHER_USER, OTHER_USER)
    else:
        os.chmod(bad, 0o777)
    attacked.folder.symlink_to(good)
    return _repeat_in_process(lambda k: _redirect(attacked.folder, (good, bad)[k % 2]))


def _redirect(link: Path, target: Path) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    os.replace(fresh, link)


def rewritten(rng: np.random.Generator, attacked: AttackedCache) -> Callable[[], None]:
    """Overwrite the entry continually from another process, with right and wrong content."""
    right, wrong = attacked.entry.read_bytes(), (attacked.forged(), attacked.other.read_bytes(), b"")

    def write(k: int) -> None:
        content = right if k % 2 else wrong[k // 2 % 3]
        attacked.entry.write_bytes(content[: len(content) // (1 + k % 3)])

    return _repeat_in_process(write)


def _repeat_in_process(work: Callable[[int], None]) -> Callable[[], None]:
    """Repeat some work in another process; return the function that stops it."""
    child = os.fork()
    if not child:
        try:
            k = 0
            while os.getppid() != 1:
                work(k)
                k += 1
        finally:
            os._exit(0)
    time.sleep(0.002)

    def stop() -> None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    return stop


ATTACKS: dict[str, Callable[[np.random.Generator, AttackedCache], Callable[[], None] | None]] = {
    "corrupted": corrupt,
    "cut": cut,
    "lengthened": lengthen,
    "replayed": replay,
    "forged": forge,
    "spliced": splice,
    "a link": link,
    "special file": special_file,
    "published secret": published_secret,
    "planted secret": planted_secret,
    "corrupted secret": corrupted_secret,
    "entry of another user": foreign_entry,
    "folder of another user": foreign_folder,
    "swapped links": swapped_links,
    "rewritten": rewritten,
}
