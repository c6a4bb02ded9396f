"""Splits of the rows into training and test rows: stratified 75 / 25, or by animal or subject."""

from __future__ import annotations

import numpy as np

from ubayfs.exceptions import InputError

from ..tasks import Split, seed_of
from .datasets import Dataset

TEST_SHARE = 0.25
RANDOM, GROUPS = "random", "groups"


def make_split(dataset: Dataset, scheme: str, number: int, seed: int) -> Split:
    """Return the rows of one split; it depends on the data set, the scheme, the number and the seed alone.

    By groups, a quarter of the *groups* is held out, such that the classes are as even as groups allow (the first fold
    of a stratified group 4-fold).

    Raises
    ------
    InputError
        If there is no such scheme, or if it asks for groups that the data set does not have.
    """
    from sklearn.model_selection import StratifiedGroupKFold, train_test_split

    if scheme not in (RANDOM, GROUPS):
        raise InputError(f"scheme must be {RANDOM!r} or {GROUPS!r}; got {scheme!r}.")
    state = int(seed_of(seed, dataset.source.name, scheme, number).generate_state(1)[0])
    rows = np.arange(len(dataset.y))
    if scheme == RANDOM:
        train, test = train_test_split(rows, test_size=TEST_SHARE, stratify=dataset.y, random_state=state)
    elif dataset.groups is None:
        raise InputError(f"{dataset.source.name} has no groups of rows to split by; use the scheme 'random'.")
    else:
        folds = StratifiedGroupKFold(n_splits=round(1 / TEST_SHARE), shuffle=True, random_state=state)
        train, test = next(folds.split(rows, dataset.y, dataset.groups))
    return Split(number, np.sort(train), np.sort(test))
