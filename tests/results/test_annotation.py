"""AnnData objects: read by names of columns and layers, and annotated so that files can hold it."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from ubayfs import Evidence, UBayFSSelector, annotate, collect_evidence, decide, decorrelate, max_size
from ubayfs._plain import plain
from ubayfs.data.feature_data import FeatureData
from ubayfs.exceptions import InputError

anndata = pytest.importorskip("anndata")
pytestmark = [
    pytest.mark.filterwarnings("default:::anndata"),
    pytest.mark.filterwarnings("ignore:gene2 alone:ubayfs.exceptions.UBayFSWarning"),
    pytest.mark.filterwarnings("ignore:Column 'patient':ubayfs.exceptions.UBayFSWarning"),
]

N_CELLS, N_GENES = 40, 15


@pytest.fixture
def adata():
    """Cells of ten patients; gene 2 tells the status, the layer "log" has other values."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.6, size=(N_CELLS, N_GENES)).astype(np.float32)
    status = np.arange(N_CELLS) % 2
    counts[:, 2] += 4 * status
    obs = pd.DataFrame(
        {
            # Not all versions of anndata can write the text columns of newer pandas; objects they can.
            "status": pd.Categorical.from_codes(1 - status, pd.Index(["case", "control"], dtype=object)),
            "patient": np.arange(N_CELLS) // 4,
            "age": rng.normal(60, 5, size=N_CELLS),
            "marker a": rng.integers(0, 2, size=N_CELLS),
            "marker b": rng.integers(0, 2, size=N_CELLS),
        },
        index=pd.Index([f"cell{i}" for i in range(N_CELLS)], dtype=object),
    )
    var = pd.DataFrame(index=pd.Index([f"gene{i}" for i in range(N_GENES)], dtype=object))
    layers = {"log": sparse.csr_matrix(np.log1p(counts)), "dense": counts * 2}
    return anndata.AnnData(sparse.csr_matrix(counts), obs=obs, var=var, layers=layers)


@pytest.mark.parametrize("layer", [None, "log", "dense"])
def test_data_are_those_of_the_parts_read_by_hand(adata, layer):
    data = FeatureData.from_table(adata, target="status", groups="patient", layer=layer)
    values = adata.X if layer is None else adata.layers[layer]
    frame = pd.DataFrame(values.toarray() if sparse.issparse(values) else values, columns=list(adata.var_names))
    expected = FeatureData.from_table(
        frame, adata.obs["status"].astype(str).to_numpy(), groups=adata.obs["patient"].to_numpy()
    )
    assert data.fingerprint == expected.fingerprint
    assert_array_equal(data.X[:], expected.X)
    assert data.feature_names.tolist() == list(adata.var_names)
    assert_array_equal(data.groups, expected.groups)


@pytest.mark.parametrize(("target", "task"), [("age", "regression"), (["marker a", "marker b"], "multilabel")])
def test_targets_of_other_tasks(adata, target, task):
    data = FeatureData.from_table(adata, target=target)
    assert data.target.task == task
    assert_array_equal(data.target.values, adata.obs[target].to_numpy())


def test_evidence_is_that_of_the_frame(adata):
    settings = {"selector": "mrmr", "n_models": 8, "n_features_per_model": 3, "random_state": 0}
    found = collect_evidence(adata, target="status", groups="patient", layer="log", **settings)
    frame = pd.DataFrame(adata.layers["log"].toarray(), columns=list(adata.var_names))
    expected = collect_evidence(
        frame, adata.obs["status"].to_numpy(), groups=adata.obs["patient"].to_numpy(), **settings
    )
    assert_array_equal(found.sets.toarray(), expected.sets.toarray())
    assert found.settings == expected.settings
    y = collect_evidence(adata, adata.obs["status"], groups=adata.obs["patient"], layer="log", **settings)
    assert_array_equal(y.sets.toarray(), expected.sets.toarray())


@pytest.mark.parametrize(
    ("arguments", "argument", "message"),
    [
        ({"target": "Status"}, "target", "no such column of obs. Did you mean 'status'?"),
        ({"target": ["marker a", "marker_c"]}, "target", "'marker_c'"),
        ({"target": 3}, "target", "3"),
        ({"target": "zzz"}, "target", "There are 5: 'status', 'patient'"),
        ({"target": "status", "groups": "patients"}, "groups", "Did you mean 'patient'?"),
        ({"target": "status", "layer": "Log"}, "layer", "no such layer. Did you mean 'log'?"),
        ({"target": "status", "y": np.zeros(N_CELLS)}, "target", "together with y"),
    ],
)
def test_parts_that_are_not_there_are_named(adata, arguments, argument, message):
    with pytest.raises(InputError) as caught:
        collect_evidence(adata, **arguments)
    assert caught.value.argument == argument
    assert message in str(caught.value)


@pytest.mark.parametrize("argument", ["target", "layer", "groups"])
def test_names_of_parts_are_refused_for_other_tables(argument):
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    with pytest.raises(InputError, match="names a part of an AnnData object, but X is of type ndarray") as caught:
        collect_evidence(X, y, **{argument: "status"})
    assert caught.value.argument == argument
    if argument != "groups":  # FeatureData bring theirs
        with pytest.raises(InputError, match="X is of type FeatureData"):
            collect_evidence(FeatureData.from_table(X, y), **{argument: "status"})


def test_genes_of_the_same_name_and_objects_without_a_matrix_are_refused(adata):
    adata.var_names = ["same", "same", *adata.var_names[2:]]
    with pytest.raises(InputError, match="duplicate feature names: 'same'"):
        FeatureData.from_table(adata)
    with pytest.raises(InputError, match="X has no matrix; name the layer"):
        FeatureData.from_table(anndata.AnnData(obs=adata.obs, var=pd.DataFrame(index=["a", "b"])))


def test_a_target_in_another_order_is_refused(adata):
    with pytest.raises(InputError, match="labels of X in another order"):
        FeatureData.from_table(adata, adata.obs["status"].iloc[::-1])


@pytest.mark.parametrize("dense", [False, True])
def test_backed_objects_are_loaded(adata, tmp_path, dense):
    if dense:
        adata.X = adata.X.toarray()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    try:
        found = FeatureData.from_table(backed, target="status")
        assert found.fingerprint == FeatureData.from_table(adata, target="status").fingerprint
        if dense:
            part = FeatureData.from_table(backed[:30], target="status")
            assert part.fingerprint == FeatureData.from_table(adata[:30], target="status").fingerprint
    finally:
        backed.file.close()


def test_a_matrix_that_anndata_cannot_cut_is_refused_with_the_way_out(adata, monkeypatch):
    def broken(self):
        raise AttributeError("no attribute '_validate_indices'")

    monkeypatch.setattr(anndata.AnnData, "X", property(broken))
    with pytest.raises(InputError, match=r"Load the object before you cut it: adata.to_memory\(\)"):
        FeatureData.from_table(adata, target="status")


@pytest.mark.parametrize("missing", ["error", "available"])
@pytest.mark.parametrize("groups", ["patient", list(range(N_CELLS)), None])
def test_samples_without_a_target_are_left_out_with_a_note(adata, groups, missing):
    status = adata.obs["status"].copy()
    status.iloc[[3, 7]] = None
    left = adata[np.delete(np.arange(N_CELLS), [3, 7])].copy()
    adata.obs["status"] = status
    data = FeatureData.from_table(adata, target="status", groups=groups, missing=missing)
    others = np.delete(groups, [3, 7]) if isinstance(groups, list) else groups
    assert data.fingerprint == FeatureData.from_table(left, target="status", groups=others).fingerprint
    note, *others = data.notes
    assert [other.code for other in others] == ["named_like_groups"] * (groups is None)
    assert (note.code, note.facts["samples"], note.facts["n_left"]) == (
        "samples_without_target",
        ["cell3", "cell7"],
        N_CELLS - 2,
    )
    evidence = collect_evidence(adata, selector="mrmr", target="status", n_models=4, random_state=0)
    assert note in evidence.notes


def test_no_target_at_all_is_refused(adata):
    adata.obs["status"] = None
    with pytest.raises(InputError, match="missing values"):
        FeatureData.from_table(adata, target="status")


def test_the_estimator_takes_annotated_data_by_name(adata):
    selector = UBayFSSelector("mrmr", max_features=3, n_models=8, random_state=0, constraints=decorrelate(0.9))
    selector.fit(adata, adata.obs["status"], groups="patient")
    assert selector.feature_names_in_.tolist() == list(adata.var_names)
    chosen = list(selector.get_feature_names_out())
    assert "gene2" in chosen
    expected = adata[:, chosen].X.toarray()
    for given in (adata, adata[:, ::-1].copy(), adata[:, ["gene0", *chosen]].copy()):
        found = selector.transform(given)
        assert sparse.issparse(found)
        assert_array_equal(found.toarray(), expected)
    assert selector.redecide(max_features=2, X=adata).selection_.features
    with pytest.raises(InputError, match="'gene2', which is not a feature"):
        selector.transform(adata[:, ["gene0", "gene1"]].copy())


@pytest.fixture
def decided(adata):
    evidence = collect_evidence(
        adata, selector="mrmr", target="status", n_models=8, n_features_per_model=3, random_state=0
    )
    return evidence, decide(evidence, constraints=[max_size(2), decorrelate(0.9)], X=adata)


def test_annotations_survive_a_file(adata, decided, tmp_path):
    evidence, selection = decided
    assert annotate(adata, evidence, selection) is None
    adata.write_h5ad(tmp_path / "cells.h5ad")
    for found in (adata, anndata.read_h5ad(tmp_path / "cells.h5ad")):
        assert found.var["ubayfs_votes"].tolist() == evidence.counts.tolist()
        assert found.var["ubayfs_votes"].dtype == np.int64
        assert found.var["ubayfs_selected"].dtype == bool
        assert list(found.var_names[found.var["ubayfs_selected"]]) == list(selection.features)
        facts = json.loads(found.uns["ubayfs"])
        assert facts["ensemble"] == json.loads(json.dumps(dict(evidence.settings)))
        about = facts["selection"]
        assert (about["value"], about["bound"]) == (selection.value, selection.bound)
        assert about["features"] == list(selection.features)
        assert [constraint["kind"] for constraint in about["constraints"]] == ["max_size", "decorrelate"]
        assert about["constraints"] == json.loads(json.dumps(plain(selection.provenance["constraints"])))
        assert about["constraints"][0]["arguments"] == {"n": 2, "rho": "hard"}


def test_features_are_matched_by_name(adata, decided):
    evidence, selection = decided
    more = anndata.AnnData(np.zeros((2, 3), dtype=np.float32), var=pd.DataFrame(index=["a", "b", "c"]))
    mixed = anndata.concat([adata[:2, ::-1].copy(), more], axis=1)
    given = mixed.copy()
    found = annotate(mixed, evidence, selection, copy=True)
    votes = dict(zip(evidence.feature_names, evidence.counts.tolist(), strict=True))
    assert found.var["ubayfs_votes"].to_dict() == {**votes, "a": 0, "b": 0, "c": 0}
    assert set(found.var_names[found.var["ubayfs_selected"]]) == set(selection.features)
    assert list(mixed.var.columns) == list(given.var.columns)
    assert "ubayfs" not in mixed.uns


def test_without_a_selection_an_earlier_one_is_removed(adata, decided):
    annotate(adata, *decided)
    annotate(adata, decided[0])
    assert list(adata.var.columns) == ["ubayfs_votes"]
    assert json.loads(adata.uns["ubayfs"])["selection"] is None


def test_what_does_not_fit_is_refused_and_nothing_is_written(adata, decided):
    evidence, selection = decided
    other = Evidence.from_sets([[True, False]], ["gene1", "gen2"])
    bad = [
        ((adata, other), "evidence", "names 'gen2', which is not a feature"),
        ((adata, Evidence.from_sets([[True, False]], ["gene1", "gene2"]), selection), "selection", "it has others"),
        ((adata, selection), "evidence", "must be Evidence; got Selection"),
        ((adata, evidence, "best"), "selection", "must be a Selection"),
        ((adata.var, evidence), "adata", "must be an AnnData object; got DataFrame"),
    ]
    for arguments, argument, message in bad:
        with pytest.raises(InputError, match=message) as caught:
            annotate(*arguments)
        assert caught.value.argument == argument
    assert not len(adata.var.columns)
    assert not adata.uns
