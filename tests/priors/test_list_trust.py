"""Learned trust in lists, against a literal version of the rule, exact p-values and planted truths."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ubayfs
from ubayfs import Evidence, Hyperdirichlet, UBayFSSelector, decide, exact_size, explain, max_size
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import InputError
from ubayfs.priors import resolve_knowledge
from ubayfs.priors.list_trust import LEVEL, N_DEALINGS, learn_trust, list_p_values

TEN = max_size(10)
# Features without votes in the set, and features in two lists, are meant here.
pytestmark = pytest.mark.filterwarnings("ignore::ubayfs.exceptions.UBayFSWarning")


def evidence_of(rng, n_features=60, n_models=40, strong=()):
    """Return random sets in which some features are chosen more often; feature 0 is constant."""
    share = np.full(n_features, 0.08)
    share[list(strong)] = 0.5
    sets = rng.random((n_models, n_features)) < share
    sets[:, 0] = False
    constant = np.zeros(n_features, dtype=bool)
    constant[0] = True
    names = np.array([f"x{i}" for i in range(n_features)], dtype=object)
    return replace(Evidence.from_sets(sets, names), constant=constant)


def literal_weights(lists, votes, constant, n_models, k, default):
    """Return the learned weights by plain loops; `lists` are pairs of members and stated votes, of one level."""
    weights = {}
    usable = [[j for j in members if not constant[j]] for members, _ in lists]
    sums = {}
    for members in usable:
        m = len(members)
        if m >= 3 and m not in sums:
            population = sorted(votes[j] for j in range(len(votes)) if not constant[j])
            values = sorted(set(population))
            dealt = np.random.default_rng(0).multivariate_hypergeometric(
                [population.count(v) for v in values], m, 2000, method="marginals"
            )
            sums[m] = [sum(int(n) * int(v) for n, v in zip(row, values, strict=True)) for row in dealt]
    p_values = {}
    for number, members in enumerate(usable):
        if len(members) >= 3:
            own = sum(int(votes[j]) for j in members)
            p_values[number] = (1 + sum(dealt >= own for dealt in sums[len(members)])) / 2001
    accepted = {0.2: set(), 0.05: set()}
    for level in accepted:
        for rank, number in enumerate(sorted(p_values, key=p_values.get), start=1):
            if p_values[number] <= level * rank / len(p_values):
                accepted[level] = {n for n, p in p_values.items() if p <= p_values[number]}
    for number, (members, stated) in enumerate(lists):
        if number not in p_values:
            given = stated
        elif number not in accepted[0.2]:
            given = default
        elif number in accepted[0.05] and len(usable[number]) <= k:
            given = stated
        else:
            given = min(stated, n_models / 2)
        for j in members:
            weights[j] = max(weights.get(j, default), given)
    return [weights.get(j, default) for j in range(len(votes))], p_values


@pytest.mark.parametrize("seed", range(30))
def test_the_rule_as_by_plain_loops(seed):
    rng = np.random.default_rng(seed)
    evidence = evidence_of(rng, strong=rng.choice(np.arange(1, 60), 8, replace=False))
    sizes = rng.choice([1, 2, 3, 5, 12, 25], rng.integers(1, 7))
    blocks = {f"b{i}": [f"x{j}" for j in rng.choice(60, m, replace=False)] for i, m in enumerate(sizes)}
    stated = {name: float(rng.choice([5.0, 40.0])) for name in blocks}
    gene_sets = ubayfs.Blocks(blocks)
    object.__setattr__(gene_sets, "are_gene_sets", True)
    k = int(rng.choice([4, 10]))
    known = resolve_knowledge(stated, evidence.feature_names, gene_sets, evidence.n_models)
    weights, found = learn_trust(known, evidence, k)
    lists = [([int(name[1:]) for name in blocks[b]], stated[b]) for b in blocks]
    expected, p_values = literal_weights(lists, evidence.counts, evidence.constant, 40, k, 0.01)
    assert weights.tolist() == expected
    assert [one.p_value for one in found] == list(p_values.values())
    assert (
        decide(
            evidence, weights=stated, blocks=gene_sets, constraints=exact_size(k), trust_in_lists="learned"
        ).weights.tolist()
        == expected
    )


@pytest.mark.parametrize("m", [3, 5, 7])
def test_p_values_are_those_of_all_sets(m):
    rng = np.random.default_rng(m)
    votes, varying = rng.integers(0, 6, 12), np.ones(12, dtype=bool)
    varying[3] = False
    usable = np.flatnonzero(varying)
    lists = [rng.choice(usable, m, replace=False) for _ in range(5)]
    sums = np.array([votes[list(chosen)].sum() for chosen in itertools.combinations(usable, m)])
    exact = np.array([(sums >= votes[members].sum()).mean() for members in lists])
    found = list_p_values(lists, votes, varying)
    assert np.abs(found - exact).max() < 5 * np.sqrt(0.25 / N_DEALINGS)
    assert (found == list_p_values(lists, votes, varying)).all()


def test_random_lists_are_trusted_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    votes, varying = rng.poisson(3.0, 2000), np.ones(2000, dtype=bool)
    lists = [rng.choice(2000, 20, replace=False) for _ in range(1000)]
    assert (list_p_values(lists, votes, varying) <= LEVEL).mean() == pytest.approx(LEVEL, abs=0.04)


def planted(seed, wrong=False, m=10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 200))
    true = rng.choice(200, 8, replace=False)
    y = (X[:, true].sum(axis=1) + rng.normal(size=80) > 0).astype(int)
    others = np.setdiff1d(np.arange(200), true)
    listed = rng.choice(others, m, replace=False) if wrong else true
    evidence = ubayfs.collect_evidence(X, y, selector="mrmr", n_models=30, random_state=seed)
    return evidence, {f"x{i}": "very likely" for i in listed}, set(true.tolist())


def found_share(evidence, weights, true, **how):
    return len(true & set(decide(evidence, weights=weights, constraints=max_size(8), **how).indices.tolist())) / 8


def test_right_lists_help_and_wrong_ones_do_little_harm():
    shares = {}
    for seed in range(12):
        for wrong in (False, True):
            evidence, weights, true = planted(seed, wrong, m=30 if wrong else 8)
            shares.setdefault((wrong, "none"), []).append(found_share(evidence, 0.01, true))
            for trusted in ("as_stated", "learned"):
                share = found_share(evidence, weights, true, trust_in_lists=trusted)
                shares.setdefault((wrong, trusted), []).append(share)
    mean = {key: np.mean(values) for key, values in shares.items()}
    gain = mean[False, "as_stated"] - mean[False, "none"]
    assert mean[False, "learned"] - mean[False, "none"] > 0.7 * gain > 0.2
    assert mean[True, "as_stated"] < mean[True, "none"] - 0.2
    assert mean[True, "learned"] > mean[True, "none"] - 0.05


def test_single_statements_and_unlikely_features_are_not_changed():
    evidence = evidence_of(np.random.default_rng(1))
    silent = [f"x{i}" for i in np.argsort(evidence.counts)[:20] if i]
    weights = {silent[0]: "very likely", silent[1]: 7, silent[2]: 7, "likely": silent[3:9], "unlikely": silent[9:15]}
    stated = decide(evidence, weights=weights, constraints=TEN)
    learned = decide(evidence, weights=weights, constraints=TEN, trust_in_lists="learned")
    (found,) = learned.posterior.knowledge.list_trust
    assert (found.name, found.n_features, found.agrees, found.stated, found.weight) == ("likely", 6, False, 10, 0.01)
    changed = learned.feature_names[learned.weights != stated.weights]
    assert set(changed) == set(silent[3:9])
    assert learned.posterior.knowledge.unlikely == stated.posterior.knowledge.unlikely != {}
    assert learned.knowledge == stated.knowledge  # what was stated


def test_a_feature_with_a_statement_of_its_own_is_not_in_the_list():
    evidence = evidence_of(np.random.default_rng(2))
    blocks = {"set": [f"x{i}" for i in range(1, 9)]}
    known = resolve_knowledge({"x1": "very likely", "set": 3}, evidence.feature_names, blocks, 40)
    assert {(one.name, one.kind, tuple(one.members)) for one in known.lists} == {
        ("very likely", "weight", (1,)),
        ("set", "block", tuple(range(2, 9))),
    }


def test_equal_numbers_of_an_array_are_a_list():
    evidence = evidence_of(np.random.default_rng(3), strong=range(1, 6))
    weights = np.full(60, 0.5)
    weights[1:6], weights[40:50], weights[50:52] = 20, 10, 7
    found = decide(evidence, weights=weights, constraints=TEN, trust_in_lists="learned")
    assert found.weights.tolist() == [0.5, *[20] * 5, *[0.5] * 44, 7, 7, *[0.5] * 8]
    assert decide(evidence, weights=3.0, constraints=TEN, trust_in_lists="learned").weights.tolist() == [3.0] * 60


def test_a_long_list_has_at_most_half_of_the_votes():
    evidence = evidence_of(np.random.default_rng(4), strong=range(1, 8))
    weights = {"very likely": [f"x{i}" for i in range(1, 13)]}
    given = {
        k: decide(evidence, weights=weights, constraints=max_size(k), trust_in_lists="learned").weights[1]
        for k in (11, 12)
    }
    assert given == {11: 20, 12: 40}
    # without a size limit, what a model may choose counts; of foreign ensembles 10
    with pytest.warns(ubayfs.exceptions.OptimizationWarning):
        assert decide(evidence, weights=weights, trust_in_lists="learned").weights[1] == 20


def test_experts_are_checked_each_by_their_own_lists():
    evidence = evidence_of(np.random.default_rng(5), strong=range(1, 6))
    right, wrong = [f"x{i}" for i in range(1, 6)], [f"x{i}" for i in np.argsort(evidence.counts)[1:8]]
    both = ubayfs.pool_experts({"Ada": {"very likely": right}, "Ben": {"very likely": wrong}})
    found = decide(evidence, weights=both, constraints=TEN, trust_in_lists="learned")
    assert [(one.name, one.agrees) for one in found.posterior.knowledge.list_trust] == [
        ("Ada: very likely", True),
        ("Ben: very likely", False),
    ]
    assert found.weights[1:6] == pytest.approx((40 + 0.01) / 2)
    others = np.delete(found.weights, range(1, 6))
    assert others == pytest.approx(0.01)


@pytest.mark.parametrize("prior", ["dirichlet", Hyperdirichlet(n_draws=100)])
def test_as_stated_is_what_it_was(prior):
    evidence = evidence_of(np.random.default_rng(6))
    weights = {"likely": ["x3", "x4", "x5"], "x9": 3}
    first = decide(evidence, weights=weights, prior=prior, constraints=TEN, random_state=0)
    second = decide(evidence, weights=weights, prior=prior, constraints=TEN, random_state=0, trust_in_lists="as_stated")
    assert (first.importance == second.importance).all()
    assert first.features == second.features
    assert first.provenance == second.provenance
    assert "trust_in_lists" not in first.provenance
    direct = decide(evidence, weights=first.weights.copy(), prior=prior, constraints=TEN, random_state=0)
    assert (direct.importance == first.importance).all()


def test_halves_repeat_it_on_their_own_votes():
    evidence, weights, _ = planted(0, wrong=True, m=30)
    decision = Decision(weights=weights, constraints=max_size(8), trust_in_lists="learned")
    known = resolve_knowledge(weights, evidence.feature_names, None, evidence.n_models)
    other, _, _ = planted(1)
    for votes in (evidence, other):
        made = decision.make(votes, knowledge=known)
        expected, found = learn_trust(known, votes, 8)
        assert (made.weights == expected).all()
        assert made.posterior.knowledge.list_trust == found


def test_the_agreement_says_what_the_other_choice_selects():
    evidence, weights, _ = planted(3, wrong=True, m=30)
    made = {
        how: decide(evidence, weights=weights, constraints=max_size(8), trust_in_lists=how)
        for how in ("as_stated", "learned")
    }
    found = {how: explain.agreement(selection) for how, selection in made.items()}
    assert made["as_stated"].features != made["learned"].features
    assert found["as_stated"].other_trust == made["learned"].features
    assert found["learned"].other_trust == made["as_stated"].features
    assert found["as_stated"].lists == found["learned"].lists
    assert found["as_stated"].p_value == found["learned"].p_value  # of what was stated
    assert {how: one.trust_in_lists for how, one in found.items()} == {how: how for how in found}


def test_the_report_names_the_list_and_the_other_choice():
    from ubayfs.report import summarize

    def sentences(weights, how):
        selection = decide(evidence, weights=weights, constraints=max_size(8), trust_in_lists=how)
        return summarize(selection, random_state=0)

    evidence, wrong, true = planted(3, wrong=True, m=30)
    right = {f"x{i}": "very likely" for i in true}
    said = sentences(wrong, "learned")
    text = " ".join(said.sentences["knowledge"])
    assert "Your 30 features rated very likely did not clearly get more votes than random features (p = " in text
    assert "they were given no weight" in text
    assert "With weights as stated (trust_in_lists: as_stated), the selected set" in text
    assert "conflict" not in text
    assert said.prior.trust_in_lists == "learned"
    assert "kept a weight only if" in said.methods.text
    text = " ".join(sentences(wrong, "as_stated").sentences["knowledge"])
    assert "as stated. That does not show that the list is wrong." in text
    text = " ".join(sentences(right, "learned").sentences["knowledge"])
    assert "have more votes than random features (p = " in text
    assert "each was given 30 of 30 votes" in text


def test_the_estimator_repeats_it_and_depends_on_the_size():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 60)), columns=[f"x{i}" for i in range(60)])
    y = (X.iloc[:, :6].sum(axis=1) > 0).astype(int)
    weights = {"very likely": [f"x{i}" for i in range(12)]}
    common = {"selector": "mrmr", "weights": weights, "n_models": 20, "n_features_per_model": 6, "random_state": 0}
    fitted = UBayFSSelector(max_features=15, trust_in_lists="learned", **common).fit(X, y)
    assert fitted.posterior_.weights[0] == 20
    again = fitted.redecide(max_features=5)
    assert again.posterior_.weights[0] == 10
    assert fitted.redecide(trust_in_lists="as_stated").posterior_.weights[0] == 20
    assert fitted.redecide(n_alternatives=1).posterior_ is fitted.posterior_
    with pytest.raises(InputError, match="trust_in_lists must be one of"):
        UBayFSSelector(trust_in_lists="maybe").fit(X, y)


def test_a_posterior_has_its_trust():
    evidence, weights, _ = planted(0)
    stated, learned = (
        decide(evidence, weights=weights, constraints=TEN, trust_in_lists=how).posterior
        for how in ("as_stated", "learned")
    )
    with pytest.raises(InputError, match="trust_in_lists is part of a posterior; pass the evidence"):
        decide(stated, constraints=TEN, trust_in_lists="learned")
    assert decide(learned, constraints=TEN, trust_in_lists="learned").posterior is learned
