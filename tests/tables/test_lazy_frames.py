"""A LazyFrame of polars is refused with the way out, wherever a frame is taken."""

import numpy as np
import pandas as pd
import pytest

from ubayfs import Evidence, UBayFSSelector, collect_evidence, decide, max_size, read_knowledge
from ubayfs.exceptions import InputError

polars = pytest.importorskip("polars")
X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
Y = np.arange(20) % 2
LAZY = polars.DataFrame({name: X[name].to_numpy() for name in X}).lazy()
KNOWN = polars.DataFrame({"feature": ["a"], "weight": [2.0]}).lazy()
SETS = Evidence.from_sets([[1, 0, 1]], list("abc"))


@pytest.mark.filterwarnings("ignore:Determining the .* of a LazyFrame")
@pytest.mark.parametrize(
    "call",
    [
        lambda: collect_evidence(LAZY, Y, selector="mrmr", n_models=2),
        lambda: collect_evidence(X, LAZY, selector="mrmr", n_models=2),
        lambda: collect_evidence(X, Y, selector="mrmr", n_models=2, adjust_for=LAZY),
        lambda: UBayFSSelector("mrmr", n_models=2).fit(LAZY, Y),
        lambda: UBayFSSelector("mrmr", n_models=2, max_features=1).fit(X, Y).transform(LAZY),
        lambda: Evidence.from_sets(LAZY),
        lambda: decide(SETS, constraints=[max_size(2)], weights=KNOWN),
        lambda: read_knowledge(KNOWN),
        lambda: read_knowledge("a", aliases=KNOWN),
    ],
)
def test_a_lazy_frame_is_refused(call):
    with pytest.raises(InputError, match=r"LazyFrame of polars.*pass its \.collect\(\)"):
        call()


def test_aliases_may_be_a_frame_of_polars():
    known = read_knowledge(["b"], aliases=polars.DataFrame({"name": ["a"], "alias": ["b"]}))
    assert known.aliases.meant("b") == ("a",)
