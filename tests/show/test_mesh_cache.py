"""A robot's meshes share one budget, are kept for the next time, and what was kept wrongly is made again."""

from __future__ import annotations

import os
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

from appell.compile.cache import object_cache as cache
from appell.show.meshes import mesh_cache
from appell.show.meshes.mesh_cache import read_simplified
from appell.show.meshes.mesh_file import read_mesh
from appell.show.scene.scene import Mesh

PANDA = {
    Path(str(file)).name: str(file.locate())
    for file in files("example-robot-data") or []
    if "panda_description/meshes" in Path(str(file)).as_posix()
}
ONE, BOTH = (1.0, 1.0, 1.0), ("finger.dae", "link7.dae")


def triangles(found) -> int:
    return sum(len(mesh.faces) for each in found for mesh, _ in each)


def wanted() -> list:
    return [(PANDA[name], ONE) for name in BOTH] + [(PANDA["finger.dae"], ONE)]


class Store(dict):
    """A store by keys that counts how often it had to have something made."""

    made = 0

    def fetch(self, key, make):
        if key not in self:
            self.made += 1
            self[key] = make()
        return self[key]


def test_all_meshes_together_keep_to_the_budget_and_what_stands_twice_is_one():
    found, notes = read_simplified(wanted(), budget=4000)
    assert notes == []
    assert 3500 < triangles(found) <= 4000
    assert [mesh for mesh, _ in found[0]] == [mesh for mesh, _ in found[2]]
    assert [color for _, color in found[1]] == [color for _, color in read_mesh(PANDA["link7.dae"])]


def test_what_was_kept_is_what_was_made():
    store = Store()
    first, _ = read_simplified(wanted(), budget=2000, keep=store.fetch)
    again, _ = read_simplified(wanted(), budget=2000, keep=store.fetch)
    plain, _ = read_simplified(wanted(), budget=2000)
    assert store.made == 1
    for found in (first, again):
        for each, other in zip(found, plain, strict=True):
            for (mesh, color), (expected, its) in zip(each, other, strict=True):
                np.testing.assert_allclose(mesh.vertices, expected.vertices, atol=1e-7)
                np.testing.assert_array_equal(mesh.faces, expected.faces)
                assert (color, mesh.smooth) == (its, expected.smooth)
    assert again[0][0][0] is again[2][0][0]


def test_another_file_budget_or_scale_is_made_anew(tmp_path):
    store, path = Store(), tmp_path / "a.stl"
    path.write_bytes(Path(PANDA["link7.stl"]).read_bytes())
    read_simplified([(str(path), ONE)], keep=store.fetch)
    read_simplified([(str(path), (1.0, 1.0, 2.0))], keep=store.fetch)
    read_simplified([(str(path), ONE)], budget=100, keep=store.fetch)
    os.utime(path, ns=(1, 1))
    read_simplified([(str(path), ONE)], keep=store.fetch)
    assert store.made == 4


def test_files_that_cannot_be_read_are_told_and_the_others_are_there(tmp_path):
    (tmp_path / "broken.stl").write_bytes(b"x" * 90)
    asked = [("package://nowhere/a.stl", ONE), (PANDA["finger.dae"], ONE), (str(tmp_path / "broken.stl"), ONE)]
    for keep in (None, Store().fetch):
        found, notes = read_simplified(asked, keep=keep)
        assert [len(each) > 0 for each in found] == [False, True, False]
        assert len(notes) == 2
        assert "does not exist" in notes[0]
        assert "truncated" in notes[1]
        assert "broken.stl" in notes[1]


def test_what_is_of_no_use_is_made_again():
    found, _ = read_simplified(wanted(), budget=2000, keep=lambda key, make: b"rubbish")
    assert triangles(found) > 1500


def test_triangles_in_memory_and_nothing_at_all():
    mesh, _ = read_mesh(PANDA["link7.dae"])[0]
    found, _ = read_simplified([mesh, mesh], budget=1000, keep=Store().fetch)
    assert triangles(found) <= 1000
    assert read_simplified([], keep=Store().fetch) == ([], [])
    assert isinstance(found[0][0][0], Mesh)


def test_the_cache_of_kernels_keeps_meshes_too(tmp_path, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))
    first, _ = read_simplified(wanted(), budget=1000, keep=cache.fetch)
    monkeypatch.setattr(mesh_cache, "_read_all", lambda *_: pytest.fail("made again"))
    again, _ = read_simplified(wanted(), budget=1000, keep=cache.fetch)
    assert triangles(first) == triangles(again)
