"""Evidence, a decision and what other samples say of it, in one call with the arguments of all three."""

import warnings

from ubayfs import collect_evidence, estimate_reproducibility, validate
from ubayfs.decision.workflow import Decision
from ubayfs.exceptions import UBayFSWarning
from ubayfs.trust.procedure import ENSEMBLE

READING = ("task", "groups", "target", "layer", "missing", "max_missing", "adjust_for", "measured")
REPEATED = ("groups", "adjust_for", "target", "layer", "max_missing", "selector")


def decided(X, y=None, *, evidence=None, random_state=0, **arguments):
    """Return the selection, and the arguments that are left for what comes after it."""
    of_ensemble = {name: arguments.pop(name) for name in (*ENSEMBLE, *READING) if name in arguments}
    of_decision = {name: arguments.pop(name) for name in Decision.names() if name in arguments}
    if evidence is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UBayFSWarning)  # tests are about what comes after it
            evidence = collect_evidence(X, y, **{"selector": "mrmr", **of_ensemble}, random_state=random_state)
    decision = Decision(**of_decision, random_state=random_state)
    selection = decision.make(evidence, X if any(c.needs_data for c in decision.constraints) else None)
    kept = {name: of_ensemble[name] for name in REPEATED if name in of_ensemble}
    return selection, {**kept, **arguments}


def reproduced(X, y=None, *, random_state=0, **arguments):
    """Return the reproducibility of what is selected."""
    selection, others = decided(X, y, random_state=random_state, **arguments)
    return estimate_reproducibility(selection, X, y, random_state=random_state, **others)


def validated(X, y=None, *, random_state=0, **arguments):
    """Return the validation of what is selected; the evidence has a seed of its own."""
    selection, others = decided(X, y, **arguments)
    return validate(selection, X, y, random_state=random_state, **others)
