"""What can be done to a cache folder: each attack is a function of a random generator and the siege that it spoils.

The siege has a folder with an entry of the victim's key, and an object of the attacker's that must never come back as
that entry: forged with a secret of the attacker's own, or written by appell itself under another key.
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

STRANGER = 1234  # a user that is not us; only root can give files to him
FORGED_SECRET = b"attacker's own secret, 32 bytes.."[:32]


@dataclass
class Siege:
    """A folder under attack."""

    folder: Path  # what the environment names
    key: str
    right: bytes  # the object that the victim's key stands for
    evil: bytes  # the attacker's
    other_key: str  # under which appell itself keeps the attacker's object

    @property
    def entry(self) -> Path:
        return self.folder / f"{self.key}.kernel"

    @property
    def other(self) -> Path:
        return self.folder / f"{self.other_key}.kernel"

    @property
    def secret(self) -> Path:
        return self.folder / "secret"

    def forged(self, secret: bytes = FORGED_SECRET) -> bytes:
        """The attacker's object as an entry of the victim's key, right but for the secret."""
        return cache._MAGIC + cache._code(self.key, self.evil, secret) + self.evil


def corrupt(rng: np.random.Generator, siege: Siege) -> None:
    content = bytearray(siege.entry.read_bytes())
    for _ in range(int(rng.integers(1, 5)) if content else 0):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    siege.entry.write_bytes(bytes(content))


def cut(rng: np.random.Generator, siege: Siege) -> None:
    content = siege.entry.read_bytes()
    siege.entry.write_bytes(content[: int(rng.integers(max(len(content), 1)))])


def lengthen(rng: np.random.Generator, siege: Siege) -> None:
    siege.entry.write_bytes(siege.entry.read_bytes() + rng.bytes(int(rng.integers(1, 100))))


def replay(rng: np.random.Generator, siege: Siege) -> None:
    """An entry that appell wrote, under a name that is not its own."""
    siege.entry.write_bytes(siege.other.read_bytes())


def forge(rng: np.random.Generator, siege: Siege) -> None:
    siege.entry.write_bytes(siege.forged())


def splice(rng: np.random.Generator, siege: Siege) -> None:
    """The head of the right entry before the attacker's object."""
    siege.entry.write_bytes(siege.entry.read_bytes()[: cache._HEAD] + siege.evil)


def link(rng: np.random.Generator, siege: Siege) -> None:
    """A link to another entry, to a forged one elsewhere, or to itself."""
    elsewhere = siege.folder.parent / "elsewhere"
    elsewhere.write_bytes(siege.forged())
    target = [siege.other, elsewhere, siege.entry][int(rng.integers(3))]
    siege.entry.unlink()
    siege.entry.symlink_to(target)


def strange_file(rng: np.random.Generator, siege: Siege) -> None:
    """A folder or a pipe where an entry or the secret should be."""
    place = siege.entry if rng.random() < 0.5 else siege.secret
    place.unlink()
    if rng.random() < 0.5:
        place.mkdir()
    else:
        os.mkfifo(place)


def published_secret(rng: np.random.Generator, siege: Siege) -> None:
    """A secret that others can read is none: what is made with it is not believed."""
    secret = siege.secret.read_bytes()
    os.chmod(siege.secret, int(rng.choice([0o644, 0o640, 0o604, 0o666])))
    siege.entry.write_bytes(siege.forged(secret))


def planted_secret(rng: np.random.Generator, siege: Siege) -> None:
    """The attacker's own secret, through a link or as a stranger's file."""
    siege.secret.unlink()
    if rng.random() < 0.5 or os.getuid() != 0:
        hidden = siege.folder.parent / "planted"
        hidden.write_bytes(FORGED_SECRET)
        os.chmod(hidden, 0o600)
        siege.secret.symlink_to(hidden)
    else:
        siege.secret.write_bytes(FORGED_SECRET)
        os.chmod(siege.secret, 0o600)
        os.chown(siege.secret, STRANGER, STRANGER)
    siege.entry.write_bytes(siege.forged())


def spoiled_secret(rng: np.random.Generator, siege: Siege) -> None:
    siege.secret.write_bytes(rng.bytes(int(rng.choice([0, 1, 31, 32, 33, 1000]))))


def stranger_entry(rng: np.random.Generator, siege: Siege) -> None:
    """An entry that a stranger owns or may write."""
    siege.entry.write_bytes(siege.forged(siege.secret.read_bytes()))  # he has even stolen the secret
    if os.getuid() == 0 and rng.random() < 0.5:
        os.chown(siege.entry, STRANGER, STRANGER)
    else:
        os.chmod(siege.entry, int(rng.choice([0o666, 0o622, 0o620])))


def stranger_folder(rng: np.random.Generator, siege: Siege) -> None:
    """A folder that a stranger owns or may write, all of it his."""
    siege.entry.write_bytes(siege.forged(siege.secret.read_bytes()))
    if os.getuid() == 0 and rng.random() < 0.5:
        os.chown(siege.folder, STRANGER, STRANGER)
    else:
        os.chmod(siege.folder, int(rng.choice([0o777, 0o770, 0o722])))


def swapped_links(rng: np.random.Generator, siege: Siege) -> Callable[[], None]:
    """A link that means our folder and a stranger's by turns, as fast as another process can turn it."""
    good, bad = siege.folder.parent / "good", siege.folder.parent / "bad"
    siege.folder.rename(good)
    bad.mkdir()
    for name, content in ((siege.entry.name, siege.forged()), ("secret", FORGED_SECRET)):
        (bad / name).write_bytes(content)
        os.chmod(bad / name, 0o600)
    if os.getuid() == 0:
        for path in (*bad.iterdir(), bad):
            os.chown(path, STRANGER, STRANGER)
    else:
        os.chmod(bad, 0o777)
    siege.folder.symlink_to(good)
    return _busy(lambda k: _turn(siege.folder, (good, bad)[k % 2]))


def _turn(place: Path, target: Path) -> None:
    fresh = place.with_name("fresh")
    fresh.symlink_to(target)
    os.replace(fresh, place)


def rewritten(rng: np.random.Generator, siege: Siege) -> Callable[[], None]:
    """An entry that another process writes over all the time, with right and wrong content."""
    right, wrong = siege.entry.read_bytes(), (siege.forged(), siege.other.read_bytes(), b"")

    def write(k: int) -> None:
        content = right if k % 2 else wrong[k // 2 % 3]
        siege.entry.write_bytes(content[: len(content) // (1 + k % 3)])

    return _busy(write)


def _busy(work: Callable[[int], None]) -> Callable[[], None]:
    """Another process that does this until it is told to stop."""
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


ATTACKS: dict[str, Callable[[np.random.Generator, Siege], Callable[[], None] | None]] = {
    "corrupted": corrupt,
    "cut": cut,
    "lengthened": lengthen,
    "replayed": replay,
    "forged": forge,
    "spliced": splice,
    "a link": link,
    "no plain file": strange_file,
    "published secret": published_secret,
    "planted secret": planted_secret,
    "spoiled secret": spoiled_secret,
    "a stranger's entry": stranger_entry,
    "a stranger's folder": stranger_folder,
    "swapped links": swapped_links,
    "rewritten": rewritten,
}
