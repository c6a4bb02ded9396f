"""annotate: votes and the chosen set written into an AnnData object, in a form that its files can hold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .._arguments import FeatureIndex, by_name, check_feature_names
from .._plain import number, plain
from ..data.parts import is_anndata
from ..decision.selection import Selection, check_selection
from ..ensemble.evidence import Evidence
from ..exceptions import InputError

_VOTES, _SELECTED, _KEY = "ubayfs_votes", "ubayfs_selected", "ubayfs"
FORMAT = 1


@by_name()
def annotate(adata: Any, evidence: Evidence, selection: Selection | None = None, *, copy: bool = False) -> Any:
    """Write votes, and the selection if there is one, into an AnnData object.

    Parameters
    ----------
    adata : AnnData
        Its `var_names` hold the features of the evidence, in any order; other variables have no votes.
    evidence : Evidence
    selection : Selection, optional
        Of the same features. Without one, what an earlier call has written about a selection is removed.
    copy : bool, default False
        Whether to annotate and return a copy.

    Returns
    -------
    annotated : AnnData or None
        None unless `copy`: as functions of scanpy do, this one changes `adata`.

    Notes
    -----
    Written are ``.var["ubayfs_votes"]`` (int), ``.var["ubayfs_selected"]`` (bool) and ``.uns["ubayfs"]``, a text in
    JSON: settings of the ensemble, features, value, bound and gap of the selection, and what it was decided with,
    constraints among it. ``write_h5ad`` stores all three.

    Raises
    ------
    InputError
        If a feature is not among `var_names`, or the selection is about other features than the evidence; nothing is
        written then.

    See Also
    --------
    read_data : Reads AnnData files.

    Examples
    --------
    >>> from ubayfs import Evidence, annotate
    >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], adata.var_names)  # doctest: +SKIP
    >>> annotate(adata, evidence)  # doctest: +SKIP
    >>> adata.var["ubayfs_votes"].tolist()  # doctest: +SKIP
    [2, 1, 0]
    """
    if not is_anndata(adata):
        raise InputError.of("adata", f"must be an AnnData object; got {type(adata).__name__}.", adata)
    if not isinstance(evidence, Evidence):
        raise InputError.of("evidence", f"must be Evidence; got {type(evidence).__name__}.", evidence)
    names = check_feature_names(adata.var_names, adata.n_vars)
    positions = FeatureIndex(names).positions(evidence.feature_names, "evidence")
    votes, facts = np.zeros(len(names), dtype=np.int64), _facts(evidence, selection)
    votes[positions] = evidence.counts
    annotated = adata.copy() if copy else adata
    annotated.var[_VOTES] = votes
    if selection is not None:
        annotated.var[_SELECTED] = np.isin(names, selection.features)
    elif _SELECTED in annotated.var:
        del annotated.var[_SELECTED]
    annotated.uns[_KEY] = json.dumps(facts, allow_nan=False)
    return annotated if copy else None


def _facts(evidence: Evidence, selection: Selection | None) -> dict[str, Any]:
    """Return what is written as JSON, in plain types."""
    facts = {"format": FORMAT, "n_models": evidence.n_models, "ensemble": plain(evidence.settings), "selection": None}
    if selection is None:
        return facts
    check_selection(selection)
    if set(selection.feature_names) != set(evidence.feature_names):
        raise InputError.of("selection", "must be about the features of the evidence; it has others.", selection)
    decided = {key: value for key, value in selection.provenance.items() if key != "evidence"}  # the ensemble
    scores = {key: number(getattr(selection, key)) for key in ("value", "bound", "gap")}
    return facts | {"selection": {"features": list(selection.features), **scores, **plain(decided)}}
