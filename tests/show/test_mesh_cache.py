"""The meshes of a robot share one budget and are cached; invalid cached data are computed again."""

from __future__ import annotations

import os
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

from appell.compile.cache import object_cache as cache
from appell.describe.meshes.mesh_file import read_mesh
from appell.show.meshes import mesh_cache
from appell.show.meshes.mesh_cache import read_simplified
from appell.show.scene.scene import Mesh

PANDA = {
    Path(str(file)).name: str(file.locate())
    for file in files("example-robot-data") or []
    if "panda_description/meshes" in Path(str(file)).as_posix()
}
ONE, BOTH = (1.0, 1.0, 1.0), ("finger.dae", "link7.dae")


def triangles(meshes) -> int:
    return sum(len(mesh.faces) for each in meshes for mesh, _ in each)


def wanted() -> list:
    return [(PANDA[name], ONE) for name in BOTH] + [(PANDA["finger.dae"], ONE)]


class Store(dict):
    """A cache that counts how often a value had to be computed."""

    made = 0

    def fetch(self, key, make):
        if key not in self:
            self.made += 1
            self[key] = make()
        return self[key]


def test_all_meshes_share_the_budget_and_repeated_entries_share_a_mesh():
    meshes, notes = read_simplified(wanted(), budget=4000)
    assert notes == []
    assert 3500 < triangles(meshes) <= 4000
    assert [mesh for mesh, _ in meshes[0]] == [mesh for mesh, _ in meshes[2]]
    assert [color for _, color in meshes[1]] == [color for _, color in read_mesh(PANDA["link7.dae"])]


def test_cached_meshes_equal_those_computed():
    store = Store()
    first, _ = read_simplified(wanted(), budget=2000, keep=store.fetch)
    again, _ = read_simplified(wanted(), budget=2000, keep=store.fetch)
    plain, _ = read_simplified(wanted(), budget=2000)
    assert store.made == 1
    for meshes in (first, again):
        for each, other in zip(meshes, plain, strict=True):
            for (mesh, color), (expected, its) in zip(each, other, strict=True):
                np.testing.assert_allclose(mesh.vertices, expected.vertices, atol=1e-7)
                np.testing.assert_array_equal(mesh.faces, expected.faces)
                assert (color, mesh.smooth) == (its, expected.smooth)
    assert again[0][0][0] is again[2][0][0]


def test_another_file_budget_or_scale_is_computed_again(tmp_path):
    store, path = Store(), tmp_path / "a.stl"
    path.write_bytes(Path(PANDA["link7.stl"]).read_bytes())
    read_simplified([(str(path), ONE)], keep=store.fetch)
    read_simplified([(str(path), (1.0, 1.0, 2.0))], keep=store.fetch)
    read_simplified([(str(path), ONE)], budget=100, keep=store.fetch)
    os.utime(path, ns=(1, 1))
    read_simplified([(str(path), ONE)], keep=store.fetch)
    assert store.made == 4


def test_unreadable_files_are_noted_and_the_others_are_returned(tmp_path):
    (tmp_path / "broken.stl").write_bytes(b"x" * 90)
    sources = [("package://nowhere/a.stl", ONE), (PANDA["finger.dae"], ONE), (str(tmp_path / "broken.stl"), ONE)]
    for keep in (None, Store().fetch):
        meshes, notes = read_simplified(sources, keep=keep)
        assert [len(each) > 0 for each in meshes] == [False, True, False]
        assert len(notes) == 2
        assert "does not exist" in notes[0]
        assert "truncated" in notes[1]
        assert "broken.stl" in notes[1]


def test_invalid_cached_data_are_computed_again():
    meshes, _ = read_simplified(wanted(), budget=2000, keep=lambda key, make: b"invalid")
    assert triangles(meshes) > 1500


def test_meshes_in_memory_and_an_empty_list_are_accepted():
    mesh, _ = read_mesh(PANDA["link7.dae"])[0]
    meshes, _ = read_simplified([mesh, mesh], budget=1000, keep=Store().fetch)
    assert triangles(meshes) <= 1000
    assert read_simplified([], keep=Store().fetch) == ([], [])
    assert isinstance(meshes[0][0][0], Mesh)


def test_meshes_are_stored_in_the_kernel_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))
    first, _ = read_simplified(wanted(), budget=1000, keep=cache.fetch)
    monkeypatch.setattr(mesh_cache, "_read_all", lambda *_: pytest.fail("computed again"))
    again, _ = read_simplified(wanted(), budget=1000, keep=cache.fetch)
    assert triangles(first) == triangles(again)
