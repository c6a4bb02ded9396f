"""Files are written whole or not at all, and what stands in the way is named."""

import errno
import os
import subprocess
import sys
import tempfile
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


CLOSED = """
import os, sys
import numpy as np
import ubayfs, ubayfs.cli.main, ubayfs.results, ubayfs.study, ubayfs.tables, ubayfs.tables.formats, ubayfs.trust

folder = sys.argv[1]
os.chdir(folder)
X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
ubayfs.Evidence.from_sets([[1, 0]]).save("e.npz")
open("t.csv", "w").write("a,y\\n1,x\\n2,z\\n")
os.mkdir("closed")
calls = {
    "file": lambda: ubayfs.read_data("t.csv", target="y"),
    "folder": lambda: ubayfs.read_data("closed/t.csv", target="y"),
    "evidence": lambda: ubayfs.Evidence.load("e.npz"),
    "evidence in folder": lambda: ubayfs.Evidence.load("closed/e.npz"),
    "study": lambda: ubayfs.study.load_study("closed/s.yaml"),
    "checkpoint": lambda: ubayfs.collect_evidence(X, y, n_models=2, checkpoint="closed"),
    "below": lambda: ubayfs.collect_evidence(X, y, n_models=2, checkpoint="closed/below"),
    "result": lambda: ubayfs.results.read_result("closed"),
    "stored": lambda: ubayfs.results.stored_at("closed/below"),
    "written": lambda: ubayfs.results.check_directory("closed"),
    "saved": lambda: ubayfs.Evidence.from_sets([[1, 0]]).save("closed/new.npz"),
}
for call in calls.values():  # all that is imported is imported now
    try:
        call()
    except ubayfs.exceptions.UBayFSError:
        pass
for name in ("e.npz", "t.csv"):
    os.link(name, f"closed/{name}")
    os.chmod(name, 0)
os.chmod("closed", 0o600)
if os.geteuid() == 0:
    os.chown(folder, 65534, 65534)
    os.chown("closed", 65534, 65534)
    os.seteuid(65534)
for name, call in calls.items():
    try:
        call()
        print(name, "allowed")
    except ubayfs.exceptions.UBayFSError as error:
        print(name, "refused" if "Permission denied" in str(error) else error)
"""


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="no such permissions")
def test_files_that_may_not_be_read_are_named_and_not_a_bug():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        done = subprocess.run([sys.executable, "-c", CLOSED, folder], capture_output=True, text=True, timeout=120)
        os.chmod(os.path.join(folder, "closed"), 0o700)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 11
    assert [line for line in lines if not line.endswith(" refused")] == []
