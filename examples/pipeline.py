"""UBayFSSelector in a pipeline: cross-validated, tuned, and decided again without a new ensemble."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ubayfs import UBayFSSelector, cannot_link, decorrelate, require


def main() -> None:
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    size = cannot_link(["worst radius", "worst perimeter", "worst area"], rho=np.inf)
    selector = UBayFSSelector(
        max_features=6, constraints=[size], n_models=40, n_features_per_model=10, min_votes=1, random_state=0
    )
    # Selection inside the pipeline sees only the training rows of each fold; selecting before would leak.
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), selector, LogisticRegression())
    scores = cross_val_score(model, X, y, cv=5, scoring="roc_auc")
    print(f"6 features: ROC AUC {scores.mean():.3f} (standard deviation {scores.std():.3f})")

    grid = {
        "ubayfsselector__max_features": [2, 6],
        "ubayfsselector__constraints": [[], [size], [size, decorrelate(0.8)]],
    }
    search = GridSearchCV(model, grid, cv=3, scoring="roc_auc").fit(X, y)
    best = search.best_params_
    print(f"best of {len(search.cv_results_['params'])} settings: ROC AUC {search.best_score_:.3f} with {best}")

    fitted = search.best_estimator_["ubayfsselector"]
    print(f"chosen: {', '.join(fitted.get_feature_names_out())}; gap {fitted.selection_.gap:g}")
    other = fitted.redecide(weights={"mean texture": 50}, constraints=[size, require("worst texture")])
    print(f"after a word with the expert: {', '.join(other.get_feature_names_out())}")


if __name__ == "__main__":
    main()
