"""Trust: repeat the procedure on other rows or shuffled targets, and say what holds.

`association` and `related` test features against a shuffled target. `procedure` has what is repeated, `repeats` does
it; `reproducibility` and `cross_validation` are made of that, on halves and on left-out samples; `assess` does all.

>>> import numpy as np
>>> from ubayfs import collect_evidence, decide, estimate_related
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(60, 20))
>>> sick = X[:, 0] + rng.normal(size=60) > 0
>>> selection = decide(collect_evidence(X, sick, n_models=10, random_state=0), max_size=2)
>>> estimate_related(selection, X, sick, n_shuffles=200).at_least
1
"""
