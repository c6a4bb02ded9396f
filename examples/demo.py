"""The whole method on the breast cancer data: votes of an ensemble, what an expert knows, and the best set of both.

Each of 569 tumors is described by 10 measurements of its cell nuclei, each as mean, standard error and worst value:
30 features in 3 blocks. Run it with ``make demo``; the figure is written to demo_output/.
"""

import argparse
import math
import textwrap
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs import cannot_link, max_size, must_link

# A weight of 80 counts like 80 models that chose the feature; the name of a block stands for all of its features.
WEIGHTS = {"worst": 10, "worst smoothness": 80, "mean texture": 60}
SIZE = max_size(8, rho=math.inf)  # hard: eight values fit on the form
LINKS = [
    must_link(["mean texture", "worst texture"]),  # one measurement gives both
    cannot_link(["worst radius", "worst perimeter", "worst area"]),  # three names for size
    # Four views of the dents in the outline. A small rho is a mild wish: it gives way when more is at stake.
    cannot_link(["mean concavity", "mean concave points", "worst concavity", "worst concave points"], rho=0.1),
]
# From the color-blind safe palette of Okabe and Ito; light and dark in greyscale too.
BLUE, VERMILION = "#56B4E9", "#D55E00"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="directory for the figure")
    output = parser.parse_args().output

    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    blocks = {block: [name for name in X.columns if block in name.split()] for block in ("mean", "error", "worst")}

    started = time.perf_counter()
    evidence = ubayfs.collect_evidence(X, y, selector="mrmr", n_models=100, random_state=0)
    collected = time.perf_counter()
    selection = ubayfs.decide(evidence, WEIGHTS, blocks=blocks, constraints=[SIZE, *LINKS], X=X, n_alternatives=3)
    decided = time.perf_counter()
    data_alone = ubayfs.decide(evidence, constraints=SIZE, X=X)

    print(f"{evidence.n_models} mRMR models on subsamples of {len(X)} tumors, {evidence.n_features} features\n")
    print_table(selection, data_alone)
    print_account(selection, data_alone)
    print(f"\nEvidence took {collected - started:.2f} s (once); best set and alternatives {decided - collected:.2f} s.")
    print(f"Figure: {save_figure(selection, data_alone, blocks, output)}")


def print_table(selection: ubayfs.Selection, data_alone: ubayfs.Selection) -> None:
    """Print the features that anyone speaks for: a vote, or a weight above the default."""
    lower, upper = selection.posterior.credible_interval(0.95)
    interval = {name: f"{lower[i]:.3f}-{upper[i]:.3f}" for i, name in enumerate(selection.feature_names)}
    table = selection.table()
    silent = (table["count"] == 0) & (table["weight"] <= 0.01)
    print(f"{'feature':<24}{'count':>6}{'weight':>8}{'importance':>12}{'95 % interval':>15}   chosen   data alone")
    for name, count, weight, importance, chosen in table[~silent].itertuples(index=False):
        marks = f"{'*' if chosen else '':^12}{'*' if name in data_alone.features else '':^10}"
        print(f"{name:<24}{count:>6}{weight:>8g}{importance:>12.4f}{interval[name]:>15}{marks}".rstrip())
    print(f"({silent.sum()} more features have neither a vote nor a word from the expert)")
    print("Intervals narrow with the number of models, not of samples: they tell how sure the ensemble is.\n")


def print_account(selection: ubayfs.Selection, data_alone: ubayfs.Selection) -> None:
    """Print what the answer is worth, what each constraint says to it, and what the expert changed."""
    metrics = selection.metrics
    proved = "so this set is the best" if selection.gap <= 1e-9 else "not proved to be the best"
    print(f"value  {selection.value:.6f}   importance {metrics.importance:.6f}", end="")
    print(f" + admissibility {metrics.admissibility:.6f}")
    print(f"bound  {selection.bound:.6f}   none of the 2^{len(selection.feature_names)} sets is worth more")
    print(f"gap    {selection.gap:.6f}   {proved}")
    print("\nConstraints")
    for constraint in (SIZE, *LINKS):
        if is_kept(selection, constraint):
            print_wrapped(f"kept     {constraint}")
    for row in metrics.violations:
        cost = f"by {row.amount:g}, which with rho={row.rho:g} costs {1 - row.admissibility:.1%} of admissibility"
        print_wrapped(f"violated {row.label}: {cost}")
    print("\nNext best sets")
    for other in selection.alternatives:
        print_wrapped(f"{other.value:.6f} with {exchanged(selection.features, other.features)}")
    print("\nFrom the data alone")
    print_wrapped(exchanged(selection.features, data_alone.features))
    print_wrapped(f"mean absolute correlation {data_alone.metrics.redundancy:.2f} instead of {metrics.redundancy:.2f}")


def print_wrapped(text: str) -> None:
    print(textwrap.fill(text, 96, initial_indent="  ", subsequent_indent=11 * " "))


def is_kept(selection: ubayfs.Selection, constraint: ubayfs.Constraint) -> bool:
    """Tell whether the chosen set keeps a constraint: then it has full admissibility, whose logarithm is 0."""
    return bool(ubayfs.log_admissibility(selection.mask, constraint, selection.feature_names)[0] == 0)


def exchanged(features: tuple[str, ...], others: tuple[str, ...]) -> str:
    gone, new = (", ".join(sorted(set(a) - set(b))) for a, b in ((features, others), (others, features)))
    return f"{new} instead of {gone}"


def save_figure(
    selection: ubayfs.Selection, data_alone: ubayfs.Selection, blocks: dict[str, list[str]], output: Path
) -> Path:
    """Draw votes and weights as shares of the posterior importance, both sets, and the constraints."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
    importance = dict(zip(selection.feature_names, selection.importance, strict=True))
    order = [name for members in blocks.values() for name in sorted(members, key=importance.get, reverse=True)]
    height = {name: row + 0.8 * (row // 10) for row, name in enumerate(order)}  # a gap between blocks
    y = np.array([height[name] for name in selection.feature_names])

    figure, (bars, marks) = plt.subplots(
        1, 2, sharey=True, figsize=(7.2, 5.8), layout="constrained", width_ratios=[2, 1]
    )  # fmt: skip
    draw_bars(bars, selection, y)
    draw_marks(marks, selection, data_alone, y, height)
    figure.text(
        0.01, 0.985,
        f"{len(selection.features)} of {len(y)} features; value {selection.value:.4f}, gap {selection.gap:.4f}\n"
        "Bold, black square: chosen\nCircles: members of a constraint, full if chosen\nDotted line: violated",
        va="top", linespacing=1.5,
    )  # fmt: skip
    output.mkdir(parents=True, exist_ok=True)
    path = output / "demo.png"
    figure.savefig(path, dpi=200)
    figure.savefig(path.with_suffix(".pdf"))
    plt.close(figure)
    return path


def draw_bars(axis, selection: ubayfs.Selection, y: np.ndarray) -> None:
    total = (selection.counts + selection.weights).sum()
    votes, weights = selection.counts / total, selection.weights / total
    axis.barh(y, votes, color=BLUE, label="votes of the ensemble")
    axis.barh(y, weights, left=votes, color=VERMILION, hatch="/////", edgecolor="white", linewidth=0,
              label="weight given by the expert")  # fmt: skip
    lower, upper = selection.posterior.credible_interval(0.95)
    shown = upper > 0.002 * upper.max()
    axis.hlines(y[shown], lower[shown], upper[shown], color="black", linewidth=0.8,
                label="95 % credible interval; narrows with\nthe number of models, not of samples")  # fmt: skip
    axis.set(xlabel="posterior importance", xlim=(0, None), ylim=(max(y) + 0.8, -0.8))
    axis.set_yticks(y, selection.feature_names)
    axis.tick_params(axis="y", length=0)
    for label, chosen in zip(axis.get_yticklabels(), selection.mask, strict=True):
        label.set_fontweight("bold" if chosen else "normal")
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.52), handlelength=1.5)


def draw_marks(
    axis, selection: ubayfs.Selection, data_alone: ubayfs.Selection, y: np.ndarray, height: dict[str, float]
) -> None:
    """Draw a column of squares per set, and a column of circles per constraint, full where the feature is chosen."""
    titles = ["chosen", "data alone"]
    for column, found in enumerate((selection, data_alone)):
        axis.scatter(np.full(found.mask.sum(), column), y[found.mask], marker="s", s=26, color=("black", "0.6")[column])
    for column, constraint in enumerate(LINKS, start=3):
        members = dict(constraint.arguments)["features"]
        rows = [height[name] for name in members]
        kept = is_kept(selection, constraint)
        axis.vlines(column, min(rows), max(rows), color="black", linestyle="-" if kept else ":", zorder=1)
        fill = ["black" if name in selection.features else "white" for name in members]
        axis.scatter([column] * len(rows), rows, s=28, color=fill, edgecolor="black", zorder=2)
        titles.append(f"{constraint.kind.replace('_', '-')}: {'kept' if kept else 'violated'}")
    columns = [0, 1, 3, 4, 5]
    axis.hlines(y, -0.5, 5.5, color="0.92", linewidth=0.6, zorder=0)
    axis.set_xlim(-0.5, 5.5)
    axis.xaxis.tick_top()
    axis.set_xticks(columns, titles, rotation=45, ha="left", rotation_mode="anchor")
    axis.tick_params(length=0)
    axis.spines[["left", "bottom"]].set_visible(False)


if __name__ == "__main__":
    main()
