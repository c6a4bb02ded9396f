"""
Grid search over constraints
============================

:class:`~ubayfs.UBayFSSelector` is a scikit-learn transformer: it can be cross-validated, tuned, and decided again
without a new ensemble.
"""

# %%
# Selection inside the pipeline sees only the training samples of each fold. Selecting before cross-validation would
# leak.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ubayfs import UBayFSSelector, cannot_link, decorrelate, require

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
size = cannot_link(["worst radius", "worst perimeter", "worst area"])
selector = UBayFSSelector(
    "mrmr", n_models=30, n_features_per_model=10, random_state=0
)
model = make_pipeline(
    StandardScaler().set_output(transform="pandas"), selector, LogisticRegression()
)

# %%
# Constraints are parameters like any other. Points are folds; lines connect their means.

rules = {
    "none": [],
    "one size": [size],
    "one size, decorrelated": [size, decorrelate(0.8)],
}
grid = {
    "ubayfsselector__max_features": [2, 4, 6],
    "ubayfsselector__constraints": list(rules.values()),
}
search = GridSearchCV(model, grid, cv=3, scoring="roc_auc").fit(X, y)

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
results = search.cv_results_
colors = ("#0072B2", "#D55E00", "#009E73")
for shift, (name, constraints) in enumerate(rules.items(), start=-1):
    rows = [
        i
        for i, p in enumerate(results["params"])
        if p["ubayfsselector__constraints"] == constraints
    ]
    sizes = [results["params"][i]["ubayfsselector__max_features"] for i in rows]
    places = (
        np.array(sizes) + 0.12 * shift
    )  # side by side, so that no point hides another
    color = colors[shift + 1]
    axis.plot(places, results["mean_test_score"][rows], color=color, label=name)
    for fold in range(3):
        scores = results[f"split{fold}_test_score"][rows]
        axis.plot(places, scores, "o", color=color, markersize=4, alpha=0.6)
axis.set(
    title="Held-out AUC by constraints and size",
    xlabel="features at most",
    ylabel="ROC AUC",
    xticks=[2, 4, 6],
)
axis.spines[["top", "right"]].set_visible(False)
axis.legend(title="constraints", frameon=False)
plt.show()

# %%
# The best pipeline was fitted again to all samples. Its selector can decide again on the same evidence, for example
# with a new prior weight.

fitted = search.best_estimator_["ubayfsselector"]
print(
    f"selected: {', '.join(fitted.get_feature_names_out())}; "
    f"gap {fitted.selection_.gap:g}"
)
other = fitted.redecide(
    weights={"mean texture": 50}, constraints=[size, require("worst texture")]
)
print(f"with a weight on mean texture: {', '.join(other.get_feature_names_out())}")
