"""Soft and hard constraints: what they cost, when they give way, and which sets come next.

A soft limit of five features is tried with growing rho. As rho grows, violating it costs more, until it is kept like a
hard one (rho = inf). Then correlated features are kept apart, and alternatives are listed.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs import decorrelate, max_per_block, max_size

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RHOS = [0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    output = parser.parse_args().output

    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    blocks = {block: [name for name in X.columns if block in name.split()] for block in ("mean", "error", "worst")}
    evidence = ubayfs.collect_evidence(X, y, n_models=100, random_state=0)

    soft = [ubayfs.decide(evidence, constraints=max_size(5, rho=rho)) for rho in RHOS]
    hard = ubayfs.decide(evidence, constraints=max_size(5, rho=np.inf))
    for rho, selection in zip([*RHOS, np.inf], [*soft, hard], strict=True):
        metrics = selection.metrics
        print(f"max_size(5, rho={rho:g}): {metrics.cardinality} features, admissibility {metrics.admissibility:.3f}")

    figure, axis = plt.subplots(figsize=(4.2, 2.8), layout="constrained")
    sizes = [selection.metrics.cardinality for selection in (*soft, hard)]
    bars = axis.bar([*(f"{rho:g}" for rho in RHOS), "hard"], sizes, color=["#0072B2"] * len(RHOS) + ["#D55E00"])
    axis.bar_label(bars, padding=2)
    axis.set(xlabel="rho of max_size(5)", ylabel="features chosen")
    axis.spines[["top", "right"]].set_visible(False)
    output.mkdir(parents=True, exist_ok=True)
    figure.savefig(output / "constraints.png", dpi=200)
    plt.close(figure)

    apart = ubayfs.decide(evidence, constraints=[max_size(5, rho=np.inf), decorrelate(0.7)], X=X, min_votes=1)
    print(f"\nhard limit alone:   {', '.join(hard.features)}")
    print(f"and decorrelated:   {', '.join(apart.features)}")
    redundancy = ubayfs.redundancy_rate(X, hard.features), apart.metrics.redundancy
    print(f"mean absolute correlation {redundancy[0]:.2f} without and {redundancy[1]:.2f} with decorrelate(0.7)")
    for row in apart.metrics.violations:
        print(f"  {row.label}: violated by {row.amount:g}, factor {row.admissibility:.3f}")

    selection = ubayfs.decide(
        evidence, constraints=[max_size(5, rho=np.inf), max_per_block(2, rho=np.inf)], blocks=blocks, n_alternatives=4
    )
    print("\nat most two per block, the best five sets:")
    for found, similarity in zip((selection.best, *selection.alternatives), selection.similarity()[0], strict=True):
        print(f"  {found.value:.4f}  Jaccard {similarity:.2f}  {', '.join(found.features)}")
    proposal = ["mean texture", "worst area", "worst concave points"]
    print(f"a set that someone proposes, {proposal}: {selection.evaluate(proposal).utility:.4f}")


if __name__ == "__main__":
    main()
