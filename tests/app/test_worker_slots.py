"""WorkerSlots of processes: what can wait does, the set of an edit never; whoever is killed gives its turn back."""

import multiprocessing
import os
import stat
import tempfile
from functools import partial

from app_studies import answered, make, until
from ubayfs.app.library import Library
from ubayfs.app.worker import Worker
from ubayfs.app.worker_slots import PrivateFolder, WorkerSlots


def hold(folder, pipe):
    slots = WorkerSlots(folder, "stages", 1)
    pipe.send(slots.acquire())
    pipe.recv()  # until it is killed


def test_a_process_that_is_killed_gives_its_slot_back(tmp_path):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=hold, args=(tmp_path, there))
    process.start()
    own = WorkerSlots(tmp_path, "stages", 1)
    assert here.recv()
    assert not own.acquire()
    process.kill()
    process.join()
    assert own.acquire()
    own.release()


def test_set_and_reasons_wait_for_no_other_study_and_the_rest_does(tmp_path):
    others = [WorkerSlots(tmp_path, "stages", os.cpu_count() or 1) for _ in range(os.cpu_count() or 1)]
    assert all(slots.acquire() for slots in others)
    bench = make(tmp_path, partial(Worker, slots=tmp_path))
    try:
        bench.collect()
        until(bench, answered(bench, "reasons"))
        bench.set_size(2)
        until(bench, answered(bench, "reasons"))
        assert len(bench.answer.set.features) == 2
        assert bench.answer.alternatives is None
        others[0].release()
        until(bench, answered(bench, "figures"))
        until(bench, others[0].acquire)  # it was given back
    finally:
        bench.close()
        for slots in others:
            slots.release()


def own_folder(place, pipe):
    folder = PrivateFolder("ubayfs-slots-", place)
    pipe.send(folder.path)
    pipe.recv()  # until it is killed


def test_folders_of_processes_that_were_killed_are_removed_and_no_others(tmp_path):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=own_folder, args=(tmp_path, there))
    process.start()
    theirs, foreign, other = here.recv(), tmp_path / "ubayfs-slots-foreign", tmp_path / "ubayfs-slots-link"
    foreign.mkdir()  # of nobody knows whom
    other.symlink_to(theirs)

    def next_start():
        for place in (theirs, foreign):
            if place.exists():
                os.utime(place, (0, 0))  # not about to be locked
        PrivateFolder("ubayfs-slots-", tmp_path).remove()

    next_start()
    assert theirs.is_dir()
    process.kill()
    process.join()
    next_start()
    assert not theirs.exists()
    assert foreign.is_dir()
    assert other.is_symlink()


def test_a_library_keeps_its_turns_in_such_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    library = Library(tmp_path / "studies")
    (folder,) = tmp_path.glob("ubayfs-slots-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    library.close()
    assert not folder.exists()
