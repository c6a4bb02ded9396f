"""One edit of an open study does each piece of work once: from the edit on the server to all stages of the answer."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

import ubayfs.app.stages
import ubayfs.data.correlation
import ubayfs.report.summary
import ubayfs.study.inputs
import ubayfs.study.trust_work
from app_studies import small_study
from ubayfs import decorrelate, max_size, require
from ubayfs.app.state import State
from ubayfs.app.study_process import _Loop
from ubayfs.app.workbench import Workbench
from ubayfs.plotting import Correlations
from ubayfs.study import Study

WORK = {
    "studies checked": (Study, "__post_init__"),
    "names checked": (ubayfs.app.stages, "draft_study"),
    "tables of knowledge read": (ubayfs.study.inputs, "read_bytes"),
    "correlations of all features": (ubayfs.data.correlation, "correlated_pairs"),
    "correlations of the set": (Correlations, "from_data"),
    "answers": (ubayfs.app.stages, "answer_of"),
    "attributions": (ubayfs.report.summary, "attribution"),
    "digests": (ubayfs.study.trust_work, "decision_digest"),
}
ONCE = {
    "studies checked", "names checked", "correlations of the set", "answers", "attributions", "digests"
}  # fmt: skip


@pytest.fixture
def edited(tmp_path):
    """A study with an answer, knowledge in a table and trust; `edit` makes an edit and all stages of its answer."""
    study = small_study(tmp_path)
    (tmp_path / "knowledge.csv").write_text("feature,weight,why\ngene1,likely,a paper\ngene2,5,experience\n")
    study = replace(
        study,  # as the empty set does not satisfy these rules, it is looked whether they contradict each other
        prior=replace(study.prior, table="knowledge.csv"),
        constraints=(max_size(3), decorrelate(0.2), require("gene1")),
    )
    bench = Workbench.create(tmp_path / "small.app", State.of("Small", study), None)
    loop = _Loop(SimpleNamespace(send=lambda message: None), bench.directory)
    stages = loop._stages

    def edit(change=lambda bench: None):
        change(bench)
        bench.flush()
        loop._enter(bench.revision, bench.state)
        while loop._rest:
            loop._stage(loop._rest.popleft())

    edit()
    stages.keep(stages.collect(lambda done, total: True))
    edit()
    stages.find_trust(stages.work(), "quick")
    edit()
    yield SimpleNamespace(edit=edit, stages=stages, folder=tmp_path)
    bench.close()


@pytest.fixture
def done(edited, monkeypatch):
    """How often each piece of work is done from now on."""
    counts = Counter()
    for name, (place, function) in WORK.items():
        original = getattr(place, function)

        def counted(*arguments, name=name, original=original, **options):
            counts[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(place, function, counted)
    return counts


def test_an_edit_of_weights(edited, done):
    edited.edit(lambda bench: bench.set_weight(["gene9"], "likely"))
    own = done.pop("studies checked")
    assert own == 2  # the study of the edit, and the one with the content of its tables written out
    assert done == dict.fromkeys(ONCE - {"studies checked"}, 1)


def test_an_edit_of_rules(edited, done):
    edited.edit(lambda bench: bench.set_size(2))
    del done["studies checked"]
    assert done == dict.fromkeys(ONCE - {"studies checked"}, 1)


def test_a_table_that_changed_is_read_again(edited, done):
    edited.edit()
    assert done["tables of knowledge read"] == 0
    (edited.folder / "knowledge.csv").write_text("feature,weight,why\ngene1,likely,a paper\ngene3,very likely,new\n")
    edited.edit()
    assert done["tables of knowledge read"] == 1
    assert edited.stages.knowledge().stated[""] == {"gene1": ("likely", "a paper"), "gene3": ("very likely", "new")}


def test_a_table_that_is_gone_and_comes_back(edited):
    content = (edited.folder / "knowledge.csv").read_bytes()
    (edited.folder / "knowledge.csv").unlink()
    edited.edit()
    assert edited.stages.selection is None
    (edited.folder / "knowledge.csv").write_bytes(content)
    edited.edit()
    assert edited.stages.selection is not None
