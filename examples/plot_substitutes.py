"""
What can replace a feature, and why is one left out?
====================================================

Each answer is a new decision with one change: without a member, with a feature that is out, or without a constraint.
Each comes with a proof.
"""

# %%

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import ubayfs
from ubayfs import explain

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
evidence = ubayfs.collect_evidence(
    X, y, selector="mrmr", n_models=100, n_features_per_model=5, random_state=0
)
selection = ubayfs.decide(
    evidence,
    constraints=[
        ubayfs.max_size(5),
        ubayfs.cannot_link(["worst radius", "worst perimeter", "worst area"]),
    ],
    X=X,
)

# %%
# The best replacement of each member, and what it costs in votes:

substitutes = sorted(selection.substitutes(), key=lambda found: found.loss_votes)
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
bars = axis.barh(
    [found.feature for found in substitutes],
    [found.loss_votes for found in substitutes],
    color="#0072B2",
)
axis.bar_label(bars, [", ".join(found.added) for found in substitutes], padding=4)
axis.set(
    title="The best replacement of each feature",
    xlabel="votes lost if the feature cannot be used",
    xlim=(0, 130),
)
axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Strong features that are not in the set, with the reason:

for out in explain.left_out(selection, n=3):
    reason = ", ".join(out.titles or out.rivals)
    print(
        f"{out.feature} ({out.count} votes) is out "
        f"because of a {out.because}: {reason}"
    )

# %%
# What each constraint costs, in votes:

for cost in explain.constraint_costs(selection):
    if cost.gain_votes is not None:
        print(
            f"without {cost.title}: {cost.gain_votes:.0f} votes more, "
            f"adds {', '.join(cost.added) or 'nothing'}"
        )
