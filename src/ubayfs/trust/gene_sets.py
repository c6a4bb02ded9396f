r"""Gene sets: which ones a selection covers, and which ones are associated with the target as a whole.

The strength of a feature is :math:`\nu T / d`, the first statistic of :mod:`ubayfs.trust.association`: about 1 without
any relation to the target (for two classes it is the statistic of Kruskal and Wallis). That of a gene set is the mean
over its measured genes. Its p-value is the share of shuffled targets that reach it, the data counted as one of them:

.. math:: p = \frac{1 + \#\{b: s_b \ge s\}}{B + 1}.

Genes of a set are correlated, and stay so in shuffles. A test by shuffled membership would take them for independent,
and ten selected genes are too few for a test of enrichment: neither is done here. The p-value asks whether any gene of
the set is related to the target, not whether more of them are than elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._arguments import (
    MOST_REPEATS,
    Array,
    FeatureIndex,
    Floats,
    Ints,
    RandomState,
    as_seed_sequence,
    by_name,
    check_int,
)
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..data.missing import MAX_MISSING
from ..decision.selection import Selection
from ..exceptions import EnsembleError, InputError
from .association import FeatureTests
from .procedure import data_of_evidence
from .related import FEWEST_SHUFFLES, LARGEST_Q

if TYPE_CHECKING:
    import pandas as pd

_VALUES = ("strength", "by_chance", "p_values")
ARRAYS = "|".join([*_VALUES, "members", "starts"])
_TIE = 1e-6  # shuffled strengths are computed in single precision


@dataclass(frozen=True, eq=False)
class GeneSets:
    """Gene sets with their association with the target; made by :func:`~ubayfs.estimate_gene_sets`.

    Attributes
    ----------
    names : tuple of str
        Gene sets of which a gene is measured.
    membership : csr_array of bool of shape (n_sets, n_features)
    feature_names : ndarray of str of shape (n_features,)
    strength : ndarray of float of shape (n_sets,)
        Mean strength of the association over the measured genes.
    by_chance : ndarray of float of shape (n_sets,)
        Its mean over the shuffled targets.
    p_values : ndarray of float of shape (n_sets,)
    n_shuffles : int
    data_fingerprint : str
        Identifies the data.
    features : tuple of str
        The selected features.

    See Also
    --------
    estimate_related : The same question for single features.
    """

    names: tuple[str, ...]
    membership: sparse.csr_array
    feature_names: Array
    strength: Floats
    by_chance: Floats
    p_values: Floats
    n_shuffles: int
    data_fingerprint: str = ""
    features: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"GeneSets({len(self.names)} gene sets, {int(self.associated.sum())} associated, {self.n_covered} covered)"
        )

    @property
    def q_values(self) -> Floats:
        """P-values adjusted over the gene sets (Benjamini and Hochberg), of shape (n_sets,)."""
        from scipy.stats import false_discovery_control

        return np.asarray(false_discovery_control(self.p_values)) if len(self.names) else np.empty(0)

    @property
    def associated(self) -> Array:
        """Which gene sets have a q-value of at most 0.1, of shape (n_sets,)."""
        return np.asarray(self.q_values <= LARGEST_Q)

    @property
    def selected(self) -> tuple[tuple[str, ...], ...]:
        """The selected features of each gene set."""
        members = FeatureIndex(self.feature_names).positions(self.features, "features")
        inside = self.membership[:, members].toarray()
        return tuple(tuple(f for f, is_in in zip(self.features, row, strict=True) if is_in) for row in inside)

    @property
    def n_covered(self) -> int:
        """Number of gene sets with a selected feature."""
        return sum(map(bool, self.selected))

    def tests(self, sets: Blocks) -> bool:
        """Return whether these are the gene sets, as far as one of their genes could be tested."""
        wanted, place = sets.matrix(self.feature_names), {name: i for i, name in enumerate(sets.names)}
        rows = [place.get(name, -1) for name in self.names]
        return -1 not in rows and (wanted[rows] != self.membership).nnz == 0

    def of(self, features: Iterable[str | int]) -> GeneSets:
        """Return the same for another set of features, given by names or positions: no data are needed."""
        positions = FeatureIndex(self.feature_names).positions(list(features), "features")
        return replace(self, features=tuple(self.feature_names[positions].tolist()))

    @property
    def order(self) -> Ints:
        """Positions of the gene sets by p-value, then by strength."""
        return np.lexsort((-self.strength / np.where(self.by_chance > 0, self.by_chance, 1.0), self.p_values))

    @property
    def n_measured(self) -> Ints:
        """Genes of each set that are features of the data, of shape (n_sets,)."""
        return np.diff(self.membership.indptr)

    def table(self) -> pd.DataFrame:
        """Return a table with one row per gene set, the smallest p-value first."""
        import pandas as pd

        columns = {
            "gene_set": self.names,
            "n_measured": self.n_measured,
            "n_selected": [len(features) for features in self.selected],
            "selected": [" ".join(features) for features in self.selected],
            "strength": self.strength,
            "by_chance": self.by_chance,
            "p_value": self.p_values,
            "q_value": self.q_values,
        }
        return pd.DataFrame(columns).iloc[self.order].reset_index(drop=True)

    def to_record(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return everything but the selected features as plain types and as arrays, for a file without pickle."""
        about = {
            "names": list(self.names),
            "feature_names": self.feature_names.tolist(),
            "n_shuffles": self.n_shuffles,
            "data_fingerprint": self.data_fingerprint,
        }
        places = {"members": self.membership.indices, "starts": self.membership.indptr}
        return about, {**places, **{name: getattr(self, name) for name in _VALUES}}

    @classmethod
    def from_record(cls, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> GeneSets:
        """Return what :meth:`to_record` was called for; EnsembleError if its parts do not fit together."""
        try:
            names, features = tuple(map(str, about["names"])), np.array(about["feature_names"], dtype=object)
            members, starts = (np.array(arrays[name], dtype=np.intp) for name in ("members", "starts"))
            shape = (len(names), len(features))
            membership = sparse.csr_array((np.ones(len(members), dtype=bool), members, starts), shape=shape)
            membership.check_format()
            strength, by_chance, p = (np.array(arrays[name], dtype=np.float64) for name in _VALUES)
            of_all = strength.shape == by_chance.shape == p.shape == (len(names),)
            if not of_all or not ((p > 0) & (p <= 1)).all():
                raise ValueError("values of other gene sets, or p-values out of range")
            n_shuffles, fingerprint = int(about["n_shuffles"]), str(about["data_fingerprint"])
            return cls(names, membership, features, strength, by_chance, p, n_shuffles, fingerprint)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EnsembleError(f"the stored gene sets do not fit together ({error!r}).") from error


@by_name()
def estimate_gene_sets(
    selection: Selection,
    X: Any,
    y: Any = None,
    *,
    gene_sets: Any,
    only: Iterable[str] = (),
    aliases: Any = None,
    groups: Any = None,
    adjust_for: Any = None,
    target: Any = None,
    layer: str | None = None,
    max_missing: float = MAX_MISSING,
    n_shuffles: int = 1000,
    random_state: RandomState = 0,
) -> GeneSets:
    """Estimate which gene sets are associated with the target, and which of them a selection covers.

    Parameters
    ----------
    selection : Selection
        Decided on evidence of these data.
    X, y, groups, adjust_for, target, layer, max_missing
        The data that the evidence was collected on, as in :func:`~ubayfs.collect_evidence`; a target is needed.
    gene_sets : path, Blocks, mapping or DataFrame
        A GMT file or a table with the columns feature and block; or names of features by gene set.
    only : iterable of str, optional
        Names or patterns of the gene sets of a file that are wanted.
    aliases : path, mapping of alias to name, or DataFrame, optional
        Other names of features in a file; see :func:`~ubayfs.read_knowledge`.
    n_shuffles : int, default 1000
        Shuffles of the target, at least 200. The smallest p-value is 1 / (n_shuffles + 1): thousands of gene sets need
        more shuffles.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0

    Returns
    -------
    gene_sets : GeneSets

    See Also
    --------
    estimate_related : Which single features are related to the target.
    Blocks.from_gene_sets : Gene sets as blocks, for weights and constraints.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ubayfs import collect_evidence, decide
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> evidence = collect_evidence(X, y, selector="mrmr", n_models=20, n_features_per_model=5, random_state=0)
    >>> sets = {"size": ["mean radius", "mean area"], "texture": ["mean texture", "worst texture"]}
    >>> found = estimate_gene_sets(decide(evidence, max_size=4), X, y, gene_sets=sets)
    >>> found.table()[["gene_set", "n_measured", "n_selected", "q_value"]].round(3).to_dict("records")[0]
    {'gene_set': 'size', 'n_measured': 2, 'n_selected': 0, 'q_value': 0.001}
    """
    n_shuffles = check_int("n_shuffles", n_shuffles, low=FEWEST_SHUFFLES, high=MOST_REPEATS)
    seed = None if random_state is None else as_seed_sequence(random_state)
    reading = {"groups": groups, "adjust_for": adjust_for, "target": target, "layer": layer, "max_missing": max_missing}
    data = data_of_evidence(selection, X, y, **reading)
    if data.target.task == "unsupervised":
        raise InputError.of("y", "is missing: without a target there is nothing that gene sets could be related to.")
    if isinstance(gene_sets, Blocks | Mapping):
        sets = Blocks.of(gene_sets)
    else:
        sets = Blocks.from_gene_sets(gene_sets, data.feature_names, only, aliases)
    return gene_sets_of(data, sets, n_shuffles, seed).of(selection.features)


def gene_sets_of(data: FeatureData, sets: Blocks, n_shuffles: int, random_state: RandomState) -> GeneSets:
    """Test gene sets, whose members are features of the data, against the target."""
    membership = sets.matrix(data.feature_names)
    tests = FeatureTests(data, n_shuffles, np.random.default_rng(random_state))
    n, strengths = tests.mean_strengths(membership)
    kept = np.flatnonzero(n)
    observed, shuffled = strengths[kept, :1], strengths[kept, 1:]
    reached = (shuffled >= observed * (1.0 - _TIE)).sum(axis=1)
    names = tuple(sets.names[i] for i in kept.tolist())
    p_values = (1.0 + reached) / (n_shuffles + 1.0)
    values = (observed[:, 0], shuffled.mean(axis=1), p_values)
    membership = sparse.csr_array(membership[kept])
    return GeneSets(names, membership, data.feature_names, *values, n_shuffles, data.fingerprint)
