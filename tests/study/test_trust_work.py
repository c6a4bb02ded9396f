"""The trust section of a study: its values, its level, and what a validation is tied to."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ubayfs import max_size
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import ConstraintError, InputError, StudyError
from ubayfs.report import summarize
from ubayfs.study import DataSection, EvidenceSection, Study, TrustSection, resolve_study
from ubayfs.study.trust_work import TrustWork, chosen_level, decision_digest
from ubayfs.trust.trust import Trust


def watch(label, unit):
    return nullcontext(lambda done, total: None)


@pytest.fixture(scope="module")
def resolved(tmp_path_factory):
    """A study of 40 samples with one related feature."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
    X[:, 0] += 2 * y
    pd.DataFrame(X, columns=list("abcdefgh")).assign(y=y).to_csv(folder / "t.csv", index=False)
    evidence, trust = EvidenceSection("fisher", 10, n_features_per_model=2), TrustSection(n_shuffles=200, n_splits=2)
    study = Study(DataSection("t.csv", target="y"), evidence, constraints=[max_size(2)], trust=trust, folder=folder)
    return resolve_study(study)


def changed(resolved, **parts):
    return resolve_study(replace(resolved.study, **parts))


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"level": "some"}, "level"),
        ({"n_shuffles": 199}, "n_shuffles"),
        ({"cv": 1}, "cv"),
        ({"sizes": [3, "x"]}, "sizes"),
        ({"seed": None}, "seed"),
        ({"max_supported": 0}, "max_supported"),
    ],
)
def test_wrong_values_are_refused(given, argument):
    with pytest.raises(InputError, match=argument):
        TrustSection(**given)


def test_sizes_are_sorted_and_each_there_once():
    assert TrustSection(sizes=[5, 1, 5]).sizes == (1, 5)
    assert TrustSection(sizes=4).sizes == (4,)


def test_the_level_of_the_file_counts(resolved):
    assert chosen_level(resolved) == "full"
    assert chosen_level(changed(resolved, trust=TrustSection(level="none"))) == "none"
    many = replace(resolved.study.evidence, n_models=10**6)
    assert chosen_level(changed(resolved, evidence=many)) == "quick"


def test_the_digest_changes_with_what_a_validation_depends_on(resolved):
    evidence = resolved.collect()
    digest = decision_digest(resolved, evidence)
    study = resolved.study
    same = [
        {"decision": replace(study.decision, n_alternatives=1)},
        {"trust": replace(study.trust, level="full", n_splits=9, n_shuffles=300)},
        {"evidence": replace(study.evidence, n_jobs=2)},
    ]
    other = [
        {"constraints": (max_size(3),)},
        {"constraints": (max_size(2, rho=2.0),)},
        {"prior": replace(study.prior, weights={"features": {"b": 3}})},
        {"blocks": {"all": ["a", "b"]}},
        {"decision": replace(study.decision, min_votes=2)},
        {"trust": replace(study.trust, cv=3)},
        {"trust": replace(study.trust, sizes=(1,))},
    ]
    assert {decision_digest(changed(resolved, **parts), evidence) for parts in same} == {digest}
    digests = [decision_digest(changed(resolved, **parts), evidence) for parts in other]
    assert len({digest, *digests}) == len(other) + 1
    again = changed(resolved, evidence=replace(study.evidence, seed=1)).collect()
    assert decision_digest(resolved, again) != digest


def test_what_is_known_is_not_collected_again(resolved, monkeypatch):
    evidence = resolved.collect()
    work = TrustWork(resolved, evidence, Trust(), watch)
    selection = work.study.decide(evidence)
    work.run_level("quick", selection)
    assert (work.trust.level, work.trust.related.n_shuffles, work.trust.reproducibility.n_splits) == ("quick", 200, 2)
    assert work.trust.related.q_values[0] <= 0.1
    monkeypatch.setattr("ubayfs.study.trust_work.related_of", None)
    monkeypatch.setattr("ubayfs.study.trust_work.collect_halves", None)
    again = TrustWork(resolved, evidence, work.trust, watch)
    assert again.trust.reproducibility is None  # of a decision
    again.run_level("quick", selection)
    assert again.trust.reproducibility.lower == work.trust.reproducibility.lower
    assert again.trust.problems == {}


def test_only_further_splits_are_collected(resolved):
    evidence, seen = resolved.collect(), []
    work = TrustWork(resolved, evidence, Trust(), watch)
    selection = work.study.decide(evidence)
    work.run_level("quick", selection)
    more = changed(resolved, trust=TrustSection(n_shuffles=300, n_splits=3))
    again = TrustWork(more, evidence, work.trust, lambda label, unit: nullcontext(lambda *done: seen.append(done)))
    again.run_level("quick", selection)
    assert {(2, 3), (3, 3)} <= set(seen)
    assert not {(0, 3), (1, 3)} & set(seen)
    whole = TrustWork(more, evidence, Trust(), watch)
    whole.run_level("quick", selection)
    assert again.trust.encode() == whole.trust.encode()
    assert again.trust.related.n_shuffles == 300


def test_p_values_are_computed_again_only_for_features_that_were_favored_before_votes_were_seen(resolved):
    evidence = resolved.collect()
    first = TrustWork(resolved, evidence, Trust(), watch)
    first.collect("none")
    assert first.trust.related.favored == ()
    for late, favored in ((True, ()), (False, ("b", "c", "d"))):
        prior = replace(resolved.study.prior, weights={"features": {"b": 3, "c": 3, "d": 3}})
        stated = changed(resolved, prior=prior)
        if late:
            stated = stated.with_change_marks({}, "2026-01-01")
        again = TrustWork(stated, evidence, first.trust, watch)
        again.collect("none")
        assert again.trust.related.favored == favored
        assert (again.trust.related is first.trust.related) == late


def test_gene_sets_are_tested_once_and_stored(resolved, tmp_path):
    gmt = resolved.study.folder / "sets.gmt"
    gmt.write_text("WITH\tnone\ta\tb\tnot measured\nOTHER\tnone\tc\td\tE\nNOTHING\tnone\tTP53\n")
    studied = changed(resolved, trust=TrustSection(n_shuffles=200, gene_sets="sets.gmt"))
    evidence = studied.collect()
    first = TrustWork(studied, evidence, Trust(), watch)
    first.collect("none")
    found = first.trust.gene_sets
    assert (found.names, found.n_measured.tolist()) == (("WITH", "OTHER"), [2, 2])
    assert found.associated.tolist() == [True, False]
    (tmp_path / "trust.npz").write_bytes(first.trust.encode())
    stored = Trust.load(tmp_path / "trust.npz")
    again = TrustWork(studied, evidence, stored, watch)
    again.collect("none")
    assert again.trust.gene_sets is stored.gene_sets
    gmt.write_text("WITH\tnone\ta\tc\n")
    other = changed(resolved, trust=TrustSection(n_shuffles=200, gene_sets="sets.gmt"))
    again = TrustWork(other, evidence, stored, watch)
    again.collect("none")
    assert again.trust.gene_sets.n_measured.tolist() == [2]
    facts = summarize(studied.decide(evidence), study=studied, trust=first.trust, n_draws=0).trust.gene_sets
    assert [(entry.name, entry.selected) for entry in facts.sets] == [
        ("WITH", ("a",)),
        ("OTHER", facts.sets[1].selected),
    ]


def test_growth_belongs_to_the_validated_decision(resolved, tmp_path):
    trust = TrustSection(n_shuffles=200, n_splits=2, cv=2, n_repeats=1, growth=True)
    studied = changed(resolved, trust=trust)
    evidence = studied.collect()
    first = TrustWork(studied, evidence, Trust(), watch)
    first.run_level("full", studied.decide(evidence))
    assert (first.trust.growth.n_done, first.trust.growth.metric) == (60, "auc")
    (tmp_path / "trust.npz").write_bytes(first.trust.encode())
    stored = Trust.load(tmp_path / "trust.npz")
    assert stored.growth == first.trust.growth
    again = TrustWork(studied, evidence, stored, watch)
    again.validate()
    assert again.trust.growth is stored.growth
    other = changed(resolved, trust=trust, constraints=[max_size(1)])
    assert TrustWork(other, evidence, stored, watch).trust.growth is None


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "does not exist"), ("feature\na\n", "block"), ("X\tnone\tTP53\n", "none of its 1 names is a feature")],
)
def test_gene_sets_that_cannot_be_used_are_named(resolved, content, message):
    name = "bad.gmt" if content is None or content.startswith("X") else "bad.csv"
    (resolved.study.folder / name).unlink(missing_ok=True)
    if content is not None:
        (resolved.study.folder / name).write_text(content)
    with pytest.raises(StudyError) as caught:
        changed(resolved, trust=TrustSection(gene_sets=name))
    (problem,) = caught.value.problems
    assert problem.path == ("trust", "gene_sets")
    assert message in problem.message.lower()


def test_a_study_that_asks_for_no_trust_computes_no_p_values(resolved):
    none = changed(resolved, trust=TrustSection(level="none"))
    work = TrustWork(none, none.collect(), Trust(), watch)
    work.collect("none")
    assert work.trust.empty


def test_a_part_that_is_stopped_ends_the_work(resolved):
    evidence = resolved.collect()
    work = TrustWork(resolved, evidence, Trust(), lambda label, unit: nullcontext(lambda done, total: done < 1))
    work.run_level("full", resolved.decide(evidence))
    assert work.stopped
    assert work.trust.halves.n_done == 1
    assert work.trust.validation is None


def test_a_size_that_nobody_knows_yet(resolved):
    """Checked with the most that it may be; decided only when p-values have given it."""
    study = changed(resolved, constraints=(max_size("supported"),))
    assert study.needs_related
    assert study.decision.constraints == (max_size(20),)
    evidence = study.collect()
    with pytest.raises(ConstraintError, match="related"):
        study.decide(evidence)
    with pytest.raises(ConstraintError, match="related"):
        study.study.decide(evidence)
    assert study.study.arguments(study.feature_names)["constraints"] == (max_size("supported"),)
    work = TrustWork(study, evidence, Trust(), watch)
    work.size()
    posterior = Decision().posterior(evidence)
    assert work.study.supported == max(1, work.trust.related.supported(posterior))
    assert len(work.study.decide(evidence).features) == work.study.supported
    assert work.study.standalone.constraints == (max_size("supported"),)


def test_what_the_most_allows_is_checked_before_any_work(resolved):
    from ubayfs import min_size

    hard = {"rho": np.inf}
    constraints = (max_size("supported", **hard), min_size(5, **hard))
    with pytest.raises(InputError, match="max-size 3"):
        changed(resolved, constraints=constraints, trust=TrustSection(max_supported=3))


def test_measured_features_of_a_table_are_not_missed(resolved):
    (resolved.study.folder / "known.csv").write_text("feature,weight\na,likely\nb,likely\nz,likely\n")
    prior = replace(resolved.study.prior, table="known.csv")
    data = replace(resolved.study.data, measured=("a",))
    asked = changed(resolved, prior=prior, data=data)
    (note,) = [note for note in asked.notes if "known.csv" in str(note)]
    assert "z" in str(note.facts)
    assert "'a'" not in str(note.facts)
    assert asked.knowledge == {"b": "likely"}
