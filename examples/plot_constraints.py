"""
Soft and hard constraints
=========================

What constraints cost, when they are violated, and which sets come next.
"""

# %%
# A soft limit of five features is tried with growing ``rho``. As ``rho`` grows, violating the limit costs more, until
# it is satisfied. A constraint without ``rho`` or ``price`` is hard.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs import decorrelate, max_per_block, max_size

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=100, random_state=0
)

limits = [max_size(5, rho=rho) for rho in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)] + [
    max_size(5)
]
selections = [ubayfs.decide(evidence, constraints=limit) for limit in limits]
for limit, selection in zip(limits, selections, strict=True):
    metrics = selection.metrics
    print(
        f"{limit}: {metrics.cardinality} features, "
        f"admissibility {metrics.admissibility:.3f}"
    )

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
sizes = [selection.metrics.cardinality for selection in selections]
bars = axis.bar(
    [*(f"{limit.rho:g}" for limit in limits[:-1]), "hard"],
    sizes,
    color=["#0072B2"] * 7 + ["#D55E00"],
)
axis.bar_label(bars, padding=2)
axis.set(
    title="The stricter the constraint, the fewer features",
    xlabel="rho of max_size(5)",
    ylabel="selected features",
)
axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``decorrelate`` penalizes pairs of correlated features.

hard = selections[-1]
apart = ubayfs.decide(evidence, max_size=5, constraints=decorrelate(0.7), X=X)
print(f"hard limit alone:   {', '.join(hard.features)}")
print(f"and decorrelated:   {', '.join(apart.features)}")
redundancy = (
    ubayfs.metrics.redundancy_rate(X, hard.features),
    apart.metrics.redundancy,
)
print(
    f"mean absolute correlation {redundancy[0]:.2f} without "
    f"and {redundancy[1]:.2f} with decorrelate(0.7)"
)
for row in apart.metrics.violations:
    print(
        f"  {row.label}: violated by {row.amount:g}, factor {row.admissibility:.3f}"
    )

# %%
# The best five sets with at most two features per block, and the score of another proposal:

blocks = {
    block: [name for name in X.columns if block in name.split()]
    for block in ("mean", "error", "worst")
}
selection = ubayfs.decide(
    evidence,
    max_size=5,
    constraints=max_per_block(2),
    blocks=blocks,
    n_alternatives=4,
)
for found, similarity in zip(
    (selection.best, *selection.alternatives),
    selection.similarity()[0],
    strict=True,
):
    print(
        f"{found.value:.4f}  Jaccard {similarity:.2f}  {', '.join(found.features)}"
    )
proposal = ["area error", "worst area", "worst concave points"]
print(f"{selection.evaluate(proposal).utility:.4f}  {', '.join(proposal)}")
