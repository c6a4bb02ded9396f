"""Files are written whole or not at all, and what stands in the way is named."""

import errno
import os
import zipfile

import numpy as np
import pytest

from ubayfs import _files
from ubayfs.ensemble.evidence import Evidence
from ubayfs.exceptions import EnsembleError, InputError


def evidence(seed=0):
    return Evidence.from_sets(np.random.default_rng(seed).random((6, 4)) < 0.5)


def test_a_directory_that_does_not_exist_is_named(tmp_path):
    path = tmp_path / "nowhere" / "x.npz"
    with pytest.raises(InputError, match=r"must lie in a directory that exists; '.*nowhere' does not.*Make that") as e:
        evidence().save(path)
    assert str(path) in str(e.value)
    assert ".tmp" not in str(e.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_a_directory(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"must lie in a directory that exists; '.*file' does not"):
        evidence().save(tmp_path / "file" / "x.npz")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_path_without_a_name_is_refused():
    with pytest.raises(InputError, match=r"path must name a file to write; got '\.'"):
        evidence().save("")


def test_a_directory_is_not_a_file_to_write(tmp_path):
    (tmp_path / "x.npz").mkdir()
    with pytest.raises(
        EnsembleError, match=r"x\.npz could not be written \(.*directory.*Name a path that you may write"
    ):
        evidence().save(tmp_path / "x.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("step", ["write", "sync", "rename"])
def test_a_full_disk_leaves_the_earlier_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "x.npz"
    evidence().save(path)
    before = path.read_bytes()

    class FullFile:
        """Writes half of what it is given."""

        def __init__(self, *arguments):
            self.file = open(*arguments)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, content):
            self.file.write(content[: len(content) // 2])
            self.file.flush()
            fill_up()

    def fill_up(*_):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / ".hidden.tmp"))

    if step == "write":
        monkeypatch.setattr(_files, "open", FullFile, raising=False)
    else:
        monkeypatch.setattr(os, {"sync": "fsync", "rename": "replace"}[step], fill_up)
    message = r"x\.npz could not be written \(No space left on device\); a file that was there before is unchanged"
    with pytest.raises(EnsembleError, match=message) as caught:
        evidence(seed=1).save(path)
    assert ".tmp" not in str(caught.value)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("member", range(4))
def test_a_member_without_the_head_of_an_array_is_damage(tmp_path, member):
    path = tmp_path / "evidence.npz"
    Evidence.from_sets(np.eye(3, dtype=bool)).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[member]
    members[name] = b"?" + members[name][1:]
    with zipfile.ZipFile(path, "w") as archive:
        for other, content in members.items():
            archive.writestr(other, content)
    with pytest.raises(EnsembleError, match="is damaged and cannot be read"):
        Evidence.load(path)
