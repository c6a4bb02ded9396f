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
# Constraints are parameters like any other.

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
for name, constraints in rules.items():
    rows = [
        i
        for i, p in enumerate(results["params"])
        if p["ubayfsselector__constraints"] == constraints
    ]
    sizes = [results["params"][i]["ubayfsselector__max_features"] for i in rows]
    axis.plot(sizes, results["mean_test_score"][rows], marker="o", label=name)
axis.set(xlabel="features at most", ylabel="ROC AUC, 3 folds", xticks=[2, 4, 6])
axis.legend(title="constraints")
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
print(f"after a word with the expert: {', '.join(other.get_feature_names_out())}")
