"""Uploads go to the disk piece by piece, into the folder of the study, and leave nothing behind when they fail."""

import asyncio
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from ubayfs.app import api, intake
from ubayfs.app.sessions import ExpertSession
from ubayfs.app.study_facts import DataFacts
from ubayfs.exceptions import InputError

MEGABYTE = 1024**2


def store(folder, name, pieces, length=None):
    async def stream():
        for piece in pieces:
            yield piece

    return asyncio.run(api.store_upload(folder, name, stream(), length))


def test_upload_is_stored_whole(tmp_path):
    path = store(tmp_path / "uploads", "cells.csv", [b"a,b\n", b"1,2\n"], 8)
    assert path == tmp_path / "uploads" / "cells.csv"
    assert path.read_bytes() == b"a,b\n1,2\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["cells.csv"]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("../../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/etc/shadow", "shadow"),
        ("..", "file"),
        ("", "file"),
        ("a\x00b\x1b[31m.csv", "a_b_[31m.csv"),
        ('<img src=x onerror="alert(1)">.csv', "_img src=x onerror=_alert(1)__.csv"),
        (".hidden", "hidden"),
        ("x" * 500 + ".csv.gz", "x" * 100 + ".csv.gz"),
    ],
)
def test_no_name_leaves_the_folder(tmp_path, name, stored):
    path = store(tmp_path / "uploads", name, [b"x"])
    assert path.name == stored
    assert path.parent == tmp_path / "uploads"


@pytest.mark.parametrize("length", [None, 11, 500])
def test_too_long_or_cut_short_leaves_what_was_there(tmp_path, monkeypatch, length):
    monkeypatch.setattr(intake, "MOST_BYTES", 10)
    store(tmp_path, "cells.csv", [b"before"])
    with pytest.raises(InputError, match="read up to"):
        store(tmp_path, "cells.csv", [b"x" * 6] * 2, length)
    with pytest.raises(InputError, match="did not arrive completely"):
        store(tmp_path, "cells.csv", [b"abc"], 5)
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("cells.csv", b"before")]


def test_a_nearly_full_disk_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(api.shutil, "disk_usage", lambda folder: SimpleNamespace(free=api._SPARE + 100))
    with pytest.raises(InputError, match="has room for"):
        store(tmp_path, "cells.csv", [b"x" * 101])
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_file(tmp_path):
    tracemalloc.start()
    store(tmp_path, "large.csv", (bytes(MEGABYTE) for _ in range(200)), 200 * MEGABYTE)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "large.csv").stat().st_size == 200 * MEGABYTE
    assert most < 20 * MEGABYTE


def test_votes_are_in_the_rows_only_when_knowledge_is_confirmed():
    bench = SimpleNamespace(
        facts=DataFacts(["a", "b"], 20, "binary", blocks={"size": ["a"]}),
        words=lambda expert: {"b": ("likely", "a paper")} if expert == "Ann" else {},
        state=SimpleNamespace(confirmed={"Bob": "2026-11-17T04:00:00+00:00"}), votes=np.array([3, 4]), revision=7,
    )  # fmt: skip
    known = {"names": ["a", "b"], "blocks": ["size", ""], "stated": {1: ("likely", "a paper")}, "votes": None}
    assert api.feature_rows(ExpertSession(bench, "Ann")) == known
    assert api.feature_rows(ExpertSession(bench, "Bob"))["votes"] == [3, 4]
    bench.facts = None
    assert api.feature_rows(ExpertSession(bench))["names"] == []


def test_a_table_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    with pytest.raises(InputError):
        intake.inspect(["absent.csv"], None, str(tmp_path))  # modules are imported
    for name, n_bytes in (("huge.csv", 2 * 1024**3), ("packed.csv.gz", 300 * 1024**2)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(n_bytes)
        tracemalloc.start()
        with pytest.raises(InputError, match=f"{name} has .* read up to .* Leave out"):
            intake.inspect([name], None, str(tmp_path))
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
        tracemalloc.stop()
