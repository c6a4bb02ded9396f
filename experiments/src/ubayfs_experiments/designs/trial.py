"""Which elementary selector finds most? A comparison whose designs, truths, seeds and rule were fixed before its run.

**Question.** Which selector should be the default of ubayfs: the new lasso, `wide` (the lasso with curves and pairs)
with a penalty factor of 1.5 or of 2.5, the mixed list of mrmr and tree, or mrmr, the default of versions 0.1 and
0.2?

**Rule**, applied by ``analysis.trial.verdict``: "The default becomes that one of ours (lasso new, wide 1.5, wide
2.5, mixed list, mrmr) that is ahead of mrmr by more than two standard errors over designs, not behind LassoCV on the
designs without non-linear effect (mean difference above -.01), and highest over all; if none is, the best, and say
so." In detail:

- The measure is the share of the k true features among the top k, the mean over the data sets of a design. A design
  counts once. Differences are taken by design; their standard error is that over designs.
- Ahead of mrmr: on all designs that both can do. mrmr cannot do labels.
- Not behind LassoCV: on the designs of kind L and M, without survival. LassoCV has no loss for censored times. The
  residuals that it gets there are a stand-in, which shall not help ours.
- Highest over all: the mean over the designs that all of ours can do (all but labels), among those of ours that meet
  the first two conditions. If none meets them, "the best" is the highest of all of ours, and the verdict says so.

**Designs** (`DESIGNS`). Kind L: linear on the scale that is seen. M: monotone, but bent on the scale that is seen
(linear in logarithms or ranks of skewed or heavy-tailed features, or saturated). N: half of the signals U-shaped,
half of them acting only in products, or steps. Real tables are used with planted targets; a random choice of p of
their columns is made for each data set. Strengths were set on other seeds, with LassoCV, mrmr, F tests and forests
only, so that they find between about a fifth and four fifths.

**Truths.** k signals at random, with weights of either sign from 0.6 to 1.4. Three classes: random weights for each
class; the noise is Gumbel. Labels: three, each signal acts on one or two. Survival: exponential times, 60 % events.

**Data sets.** `N_SETS` per design, each with a truth of its own and two parts of n samples of that truth
(`data.trial`): independent draws, or halves of the rows of a real table. P53_NCI60, KHAN and LEU_golub have fewer
than 2 n rows, so that their parts overlap. Every method is fitted to both parts.

- found: the share of signals among the top k, mean of both parts.
- prediction: ridge regression (penalty by generalized cross-validation) on the standardized top k of a part, on all
  samples that are not in the part: concordance, scaled so that 0 is chance and 1 is perfect; the mean over classes
  or labels. Ridge regression is linear in the features and does not see what is U-shaped or a product.
- stability: size of the intersection over size of the union (Jaccard) of the top k of the two parts.
- seconds: processor time of one fit, one thread.

Fewer than k features count as fewer: those that nobody voted for, or that a path never reaches, are not filled in.

**Seeds.** That of the run (``runner.SEED``), the design and the number of the data set determine the data; with the
method, its random numbers.

**Ours.** M = 50 models on three quarters of the samples, 10 features per model, votes decided with a hard max_size
of k and nothing else.

**Peers** (`methods.rankings`): LassoCV; LassoCV on the columns of the new lasso (mean of standardized values and
normal scores of ranks); logistic regression with an l1 penalty by cross-validation (classes and labels only);
stability selection; integrated path stability selection with the lasso, IPSS (numbers and two classes only, as its
authors' version); forest; boosting; univariate F tests, score tests of Cox models for survival. Methods that fit
numbers have one model per class or label, and martingale residuals of the model without features for survival. Where
a path has fewer than k features at the penalty of cross-validation, those that enter next follow.

A design whose table is absent is skipped, and the tables say how many designs they have.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ubayfs

from ..data.datasets import Dataset
from ..data.planted import Floats
from ..data.trial import EVENTS, FRESH, TIES, Design, Part, draw
from ..methods import rankings
from ..tasks import Experiment, Outcome, Scale, Split, Task, seed_of

NAME, DRAWN = "trial", "drawn"
N_SETS, N_MODELS, PER_MODEL = 8, 50, 10

DESIGNS: dict[str, Design] = {
    design.name: design
    for design in (
        # Linear on the scale that is seen. Name, kind, features, effect, target, n, p, k, strength
        Design("L01", "L", "independent", "linear", "numbers", 100, 1000, 10, 2.0),
        Design("L02", "L", "independent", "linear", "two classes", 80, 500, 5, 4.0),
        Design("L03", "L", "independent", "linear", "numbers", 40, 300, 5, 2.0),
        Design("L04", "L", "neighbors .8", "linear", "numbers", 200, 1000, 10, 1.0),
        Design("L05", "L", "neighbors .6", "linear", "survival", 150, 500, 8, 2.0),
        Design("L06", "L", "blocks", "linear", "two classes", 150, 1000, 10, 4.0),
        Design("L07", "L", "blocks", "linear", "three classes", 150, 600, 9, 3.0),
        Design("L08", "L", "factors", "linear", "numbers", 80, 800, 8, 2.0),
        Design("L09", "L", "factors", "linear", "labels", 150, 400, 9, 3.0),
        Design("L10", "L", "binary", "linear", "two classes", 300, 600, 12, 2.0),
        Design("L11", "L", "genotypes", "linear", "numbers", 500, 800, 15, 0.7),
        Design("L12", "L", "heavy tails", "linear", "numbers", 120, 600, 8, 1.5),
        Design("L13", "L", "PRO", "linear", "two classes", 51, 2000, 5, 8.0),
        Design("L14", "L", "TCGA_mirna", "linear", "survival", 220, 490, 10, 2.0),
        Design("L15", "L", "TOX171", "linear", "three classes", 85, 1500, 8, 4.0),
        Design("L16", "L", "P53_NCI60", "linear", "numbers", 40, 1500, 5, 3.0),
        Design("L17", "L", "KHAN", "linear", "numbers", 45, 1500, 6, 3.0),
        # Monotone, but bent
        Design("M01", "M", "log-normal", "log", "numbers", 100, 600, 8, 2.0),
        Design("M02", "M", "log-normal blocks", "log", "two classes", 120, 800, 6, 4.0),
        Design("M03", "M", "counts", "log", "two classes", 120, 800, 8, 4.0),
        Design("M04", "M", "counts", "log", "survival", 200, 500, 8, 2.0),
        Design("M05", "M", "neighbors .6", "saturated", "numbers", 100, 600, 10, 2.0),
        Design("M06", "M", "very heavy tails", "ranks", "numbers", 100, 500, 6, 2.0),
        Design("M07", "M", "log-normal factors", "log", "labels", 150, 400, 8, 3.0),
        Design("M08", "M", "log-normal blocks", "log", "three classes", 200, 500, 9, 3.0),
        Design("M09", "M", "LEU_golub", "ranks", "two classes", 48, 1500, 5, 5.0),
        Design("M10", "M", "LSVT", "ranks", "numbers", 63, 300, 6, 4.0),
        # U-shapes, products, steps
        Design("N01", "N", "independent", "u", "numbers", 150, 400, 6, 2.0),
        Design("N02", "N", "TCGA_mirna", "u", "two classes", 220, 490, 6, 4.0),
        Design("N03", "N", "independent", "products", "numbers", 150, 300, 6, 2.0),
        Design("N04", "N", "neighbors .6", "products", "two classes", 300, 300, 6, 4.0),
        Design("N05", "N", "independent", "steps", "numbers", 150, 500, 8, 1.5),
        Design("N06", "N", "blocks", "steps", "survival", 250, 400, 6, 2.0),
    )
}

Rank = Callable[[Part, int, np.random.Generator], Floats]


def _wide(factor: float) -> Callable[[], Any]:
    def make() -> Any:
        from ubayfs.selectors import Lasso

        return Lasso(curves=True, pairs=True, penalty_factor=factor)

    return make


OURS: dict[str, Callable[[], Any]] = {
    "lasso": lambda: "lasso",
    "wide 1.5": _wide(1.5),
    "wide 2.5": _wide(2.5),
    "mixed": lambda: ["mrmr", "tree"],
    "mrmr": lambda: "mrmr",
}
PEERS: dict[str, Rank] = {
    "LassoCV": rankings.lasso_cv,
    "LassoCV on a": rankings.lasso_cv_half_ranks,
    "logistic L1": rankings.logistic_cv,
    "stability selection": rankings.stability_selection,
    "IPSS": rankings.integrated_paths,
    "forest": rankings.forest,
    "boosting": rankings.boosting,
    "univariate": rankings.univariate,
}
CANNOT: dict[str, frozenset[str]] = {
    "mrmr": frozenset({"labels"}),
    "mixed": frozenset({"labels"}),
    "logistic L1": frozenset({"numbers", "survival"}),
    "IPSS": frozenset({"three classes", "labels", "survival"}),
}
SETTINGS: dict[str, Any] = {
    "data sets": N_SETS, "n_features_per_model": PER_MODEL, "fresh samples": FRESH, "events": EVENTS, "ties": TIES,
    "designs": {name: asdict(design) for name, design in DESIGNS.items()},
    "folds, trees": [rankings.FOLDS, rankings.N_TREES], "boosting": rankings.BOOSTING,
    "stability selection": [rankings.N_HALVES, rankings.EXPECTED_FALSE, rankings.THRESHOLD],
    "penalties": {name: [len(grid), grid[-1]] for name, grid in rankings.PENALTIES.items()},
}  # fmt: skip


def tasks(scale: Scale) -> list[Task]:
    """Return one cell per design and method that can do it."""
    ours = {"n_models": scale.models(N_MODELS)}
    return [
        Task(
            NAME, design.features if design.is_real else DRAWN, f"{design.name}-{how}", scale.splits(N_SETS),
            settings={"design": design.name, "how": how, **(ours if how in OURS else {})},
        )
        for design in DESIGNS.values()
        for how in (*OURS, *PEERS)
        if design.target not in CANNOT.get(how, frozenset())
    ]  # fmt: skip


def run_split(task: Task, dataset: Dataset, split: Split, seed: np.random.SeedSequence) -> list[Outcome]:
    """Fit one method to both parts of one data set."""
    design, how = DESIGNS[task.settings["design"]], str(task.settings["how"])
    state = int(seed.generate_state(1)[0])
    everything, signals = draw(design, dataset.X, np.random.default_rng(seed_of(state, design.name)))
    rng = np.random.default_rng(seed_of(state, design.name, how))
    n, n_models = design.n, task.settings.get("n_models", N_MODELS)
    parts = everything.of(slice(None, n)), everything.of(slice(-n, None))
    others = everything.of(slice(n, None)), everything.of(slice(None, -n))
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that stop early, and of few events in a model
        tops = [top_features(how, part, design.k, rng, n_models) for part in parts]
    seconds = (process_time() - start) / 2
    scores = {
        "found": float(np.mean([np.isin(top, signals).sum() / design.k for top in tops])),
        "prediction": float(np.mean([predict(*each) for each in zip(parts, others, tops, strict=True)])),
        "stability": len(np.intersect1d(tops[0], tops[1])) / max(1, len(np.union1d(tops[0], tops[1]))),
    }
    return [Outcome({"how": how}, tuple(np.sort(tops[0]).tolist()), seconds, scores)]


def top_features(how: str, part: Part, k: int, rng: np.random.Generator, n_models: int) -> NDArray[np.intp]:
    """Return the positions of at most k features."""
    if how in PEERS:
        score = PEERS[how](part, k, rng)
        order = np.argsort(-score, kind="stable")[:k]
        return np.asarray(order[score[order] > 0])
    evidence = ubayfs.collect_evidence(
        part.X, part.y, selector=OURS[how](), n_models=n_models, train_size=0.75, n_features_per_model=PER_MODEL,
        random_state=int(rng.integers(2**31)), task="regression" if part.target == "numbers" else None,
    )  # fmt: skip
    selection = ubayfs.decide(evidence, constraints=ubayfs.max_size(k, rho=np.inf), min_votes=1)
    return np.asarray(selection.indices)


def predict(train: Part, test: Part, features: NDArray[np.intp]) -> float:
    """Return how well ridge regression on some features predicts: 2 C - 1, the mean over outputs; 0 of no features."""
    from sklearn.linear_model import RidgeCV

    if not len(features):
        return 0.0
    center, deviation = train.X[:, features].mean(axis=0), train.X[:, features].std(axis=0)
    X, Z = ((part.X[:, features] - center) / np.where(deviation > 0, deviation, 1.0) for part in (train, test))
    guess = RidgeCV(alphas=len(X) * np.geomspace(1e-3, 10.0, 9)).fit(X, train.outputs).predict(Z)
    guess = guess.reshape(len(Z), -1)
    if test.target == "survival":
        return concordance(guess[:, 0], -test.y.time, np.asarray(test.y.event))
    everyone = np.ones(len(Z), dtype=bool)
    return float(np.mean([concordance(g, y, everyone) for g, y in zip(guess.T, test.outputs.T, strict=True)]))


def concordance(guess: Floats, y: Floats, seen: NDArray[np.bool_]) -> float:
    """Return the mean sign of guesses over pairs of samples whose order is known: the larger one must have been seen.

    For two classes this is 2 AUC - 1; for survival y is minus the time and seen the event.

    >>> concordance(np.array([0.1, 0.9, 0.4]), np.array([1.0, 3.0, 2.0]), np.ones(3, dtype=bool))
    1.0
    """
    larger = (y[:, None] > y) & seen[:, None]
    return float(np.sign(guess[:, None] - guess)[larger].mean()) if larger.any() else 0.0


EXPERIMENT = Experiment(NAME, "Which elementary selector finds most?", tasks, run_split, SETTINGS)
