"""Files that belong together are replaced all at once, wherever a program is stopped."""

import multiprocessing
import os
import shutil

import pytest

from kills import killed_at
from ubayfs.exceptions import InputError
from ubayfs.results.file_set import MANIFEST, FileSet, changed_files

NAMES = ("a.txt", "b.txt", "c.txt", "figures/a.png", "figures/b.png")
OLD = {"a.txt": "old a", "b.txt": "old b", "figures/a.png": "old figure"}
NEW = {"a.txt": "new a", "c.txt": "new c", "figures/b.png": "new figure"}
MINE = {"notes.txt": "mine", "figures/mine.png": "mine"}
pytestmark = pytest.mark.filterwarnings("ignore:a program was stopped")


def write(directory, texts):
    files = FileSet(directory, NAMES)
    with files.reserved(), files.staged() as folder:
        (folder / "figures").mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text)


def put(directory, texts):
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def texts(directory, hidden=False):
    """Return the texts of all files but the manifest."""
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in directory.rglob("*")
        if path.is_file() and path.name != MANIFEST and (hidden or ".ubayfs" not in str(path.relative_to(directory)))
    }


def read(directory):
    """Return the files of the set, checked."""
    files = FileSet(directory, NAMES)
    files.settle()
    manifest = files.manifest()
    contents = {name: (directory / name).read_bytes() for name in manifest}
    assert changed_files(manifest, contents) == []
    return {name: content.decode() for name, content in contents.items()}


def test_files_are_replaced_and_others_left_alone(tmp_path):
    put(tmp_path, MINE)
    write(tmp_path, OLD)
    assert read(tmp_path) == OLD
    write(tmp_path, NEW)
    assert read(tmp_path) == NEW
    assert texts(tmp_path, hidden=True) == {**NEW, **MINE}


def test_a_killed_writer_leaves_the_old_files_or_the_new_ones(tmp_path, monkeypatch):
    found = []
    for step in range(1000):
        directory = tmp_path / str(step)
        put(directory, MINE)
        write(directory, OLD)
        if not killed_at(step, monkeypatch, lambda to=directory: write(to, NEW)):
            break
        found.append(read(directory))
        assert {name: text for name, text in texts(directory).items() if name not in found[-1]} == MINE
        write(directory, NEW)  # leaves nothing of what was before
        assert texts(directory, hidden=True) == {**NEW, **MINE}
    n_old = found.count(OLD)
    assert found == [OLD] * n_old + [NEW] * (len(found) - n_old)
    assert n_old > len(NEW)
    assert len(found) - n_old > len(NEW) + len(OLD)


def test_a_killed_reader_leaves_work_for_the_next_one(tmp_path, monkeypatch):
    write(tmp_path / "out", OLD)
    step = 0
    while not (tmp_path / "out" / ".ubayfs-switch").exists():
        killed_at(step, monkeypatch, lambda: write(tmp_path / "out", NEW))
        step += 1
    for step in range(1000):
        copy = shutil.copytree(tmp_path / "out", tmp_path / str(step))
        if not killed_at(step, monkeypatch, lambda to=copy: read(to)):
            break
        assert read(copy) == NEW
    assert step > len(NEW) + len(OLD)


@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_whatever_fails_on_the_way_is_undone(tmp_path, monkeypatch, kind):
    put(tmp_path, MINE)
    write(tmp_path, OLD)
    real, step, left = os.replace, 0, 0

    def failing(source, target):
        nonlocal left
        left -= 1
        if left == -1:
            raise kind
        real(source, target)

    while True:
        left = step
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", failing)
            try:
                write(tmp_path, NEW)
                break
            except kind:
                assert read(tmp_path) == OLD
                assert texts(tmp_path, hidden=True) == {**OLD, **MINE}
        step += 1
    assert step > len(NEW) + len(OLD)


def test_a_killed_undoing_leaves_the_old_files_or_the_new_ones(tmp_path, monkeypatch):
    found = []
    for step in range(1000):
        directory = tmp_path / str(step)
        write(directory, OLD)
        real, failed = os.replace, False

        def failing(source, target, real=real):
            nonlocal failed
            if not failed and str(source).endswith("c.txt"):  # in the middle
                failed = True
                raise OSError
            real(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", failing)
            try:
                was_killed = killed_at(step, monkeypatch, lambda to=directory: write(to, NEW))
            except OSError:
                break
        assert was_killed
        found.append(read(directory))
    assert set(map(str, found)) == {str(OLD), str(NEW)}
    assert read(directory) == OLD


def hold(directory, held, go_on):
    with FileSet(directory, NAMES).reserved():
        held.set()
        go_on.wait()


def test_another_process_is_kept_out_until_it_is_killed(tmp_path):
    context = multiprocessing.get_context("spawn")
    held, go_on = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(tmp_path, held, go_on))
    holder.start()
    try:
        assert held.wait(120)
        with pytest.raises(InputError, match=rf"in use: another program \(process {holder.pid} on") as caught:
            write(tmp_path, NEW)
        assert caught.value.argument == "directory"
    finally:
        holder.kill()
        holder.join()
    assert (tmp_path / ".ubayfs-lock").exists()
    write(tmp_path, NEW)
    assert texts(tmp_path, hidden=True) == NEW


def test_a_reader_waits_for_a_switch_under_way(tmp_path, monkeypatch):
    write(tmp_path, OLD)
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    with FileSet(tmp_path, NAMES).reserved():
        (tmp_path / ".ubayfs-switch").mkdir()
        with pytest.raises(InputError, match="are being replaced by another program; try again later"):
            read(tmp_path)
        assert len(waited) > 10
        monkeypatch.setattr("time.sleep", lambda _: (tmp_path / ".ubayfs-switch").rmdir())
        assert read(tmp_path) == OLD


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is damaged and cannot be read as JSON"),
        ("[]", "is damaged: it must hold an object"),
        ('{"format": 2, "files": {}}', "has the format 2; this ubayfs reads format 1 only"),
        ('{"format": 1, "files": []}', "is damaged: 'files' must map"),
        ('{"format": 1, "files": {"a.txt": 1}}', "is damaged: 'files' must map"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("9" * 5000, "cannot be read as JSON"),
    ],
)
def test_damaged_manifests_are_refused(tmp_path, content, message):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(InputError, match=message):
        FileSet(tmp_path, NAMES).manifest()
