"""A paragraph for the methods section of a paper: what was done, with versions, seed and what to cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._plain import counted, listing, rounded
from ..priors.knowledge import LEARNED
from ..selectors import SELECTORS
from .facts import Citation, Examined, Methods, PriorFacts, ReportFacts, TrustFacts
from .knowledge_sentences import prior_name, stated_weights

CITATION = Citation(
    text=(
        "Jenul, A., Schrunner, S., Pilz, J., Tomic, O. (2022). A user-guided Bayesian framework for ensemble feature "
        "selection in life science applications (UBayFS). Machine Learning, 111, 3897-3923."
    ),
    doi="10.1007/s10994-022-06221-9",
    bibtex=r"""@article{jenul2022ubayfs,
  author  = {Jenul, Anna and Schrunner, Stefan and Pilz, J{\"u}rgen and Tomic, Oliver},
  title   = {A user-guided {B}ayesian framework for ensemble feature selection in life science applications ({UBayFS})},
  journal = {Machine Learning},
  volume  = {111},
  pages   = {3897--3923},
  year    = {2022},
  doi     = {10.1007/s10994-022-06221-9}
}""",
)
_PRIORS = {
    "generalized": (
        "Wong, 1998",
        "Wong, T.-T. (1998). Generalized Dirichlet distribution in Bayesian analysis. Applied Mathematics and "
        "Computation, 97(2-3), 165-181. https://doi.org/10.1016/S0096-3003(97)10140-0",
    ),
    "hyperdirichlet": (
        "Hankin, 2010",
        "Hankin, R. K. S. (2010). A generalization of the Dirichlet distribution. Journal of Statistical Software, "
        "33(11), 1-18. https://doi.org/10.18637/jss.v033.i11",
    ),
}
_INTERVALS = (
    "Nadeau, C., Bengio, Y. (2003). Inference for the generalization error. Machine Learning, 52, 239-281. "
    "https://doi.org/10.1023/A:1024068626366"
)
_BOUNDS = (
    "Blanchard, G., Neuvial, P., Roquain, E. (2020). Post hoc confidence bounds on false positives using reference "
    "families. Annals of Statistics, 48(3), 1281-1303. https://doi.org/10.1214/19-AOS1847",
    "Hemerik, J., Solari, A., Goeman, J. J. (2019). Permutation-based simultaneous confidence bounds for the false "
    "discovery proportion. Biometrika, 106(3), 635-649. https://doi.org/10.1093/biomet/asz021",
)
# What was repeated on other samples: the unit that is counted, and the sentence.
_REPEATED = {
    "related": (
        "shuffle",
        "How many selected features are related to the target was bounded simultaneously over all sets of features "
        "(confidence 90 %), from rank tests of each feature by itself and {} of the target (Blanchard et al., 2020; "
        "Hemerik et al., 2019).",
    ),
    "reproducibility": (
        "random split",
        "Reproducibility was estimated by repeating the whole procedure on both halves of {} of the samples.",
    ),
    "validation": (
        "fold",
        "Prediction was measured in {} of nested cross-validation, with the whole procedure repeated in each "
        "fold. Intervals account for overlapping training samples (Nadeau and Bengio, 2003) and for the number of "
        "predicted samples.",
    ),
}
_LISTED = 12


def methods(facts: ReportFacts) -> Methods:
    """Return the paragraph as text, and the references that it cites, each once."""
    references = [f"{facts.citation.text} https://doi.org/{facts.citation.doi}"]
    sentences = [
        f"Features were selected with ubayfs {facts.versions['ubayfs']}, user-guided Bayesian feature selection "
        "(UBayFS; Jenul et al., 2022).",
        *_ensemble(facts, references),
        *_prior(facts.prior, references),
        *_constraints(facts),
        _optimum(facts),
        *_trust(facts.trust, references),
        _software(facts),
    ]
    return Methods(" ".join(sentences), tuple(references))


def _ensemble(facts: ReportFacts, references: list[str]) -> list[str]:
    ensemble, data = facts.ensemble, facts.data
    if ensemble is None:
        return ["Importances of the features were given."]
    names = []
    for kind, name in zip(ensemble.selector_kinds, ensemble.selector_names, strict=True):
        cited, reference = SELECTORS[kind].reference if kind in SELECTORS else ("", "")
        names.append(f"{name} ({cited})" if cited else name)
        references += [reference] if reference else []
    by = f" by {listing(names)}" if names else ""
    unit = "groups" if ensemble.grouped else "samples"
    proportions = {"multilabel": "", "survival": ", with events in proportion"}
    strata = proportions.get(data.task or "", ", with all classes in proportion") if data.classes else ""
    share = ensemble.train_size
    drawn = f", each on a random {100 * share:g} % of the {unit}{strata}" if share is not None else ""
    samples = f"{counted(data.n_samples, 'sample')} and " if data.n_samples else ""
    most = ensemble.most_features_per_model
    each = f" and each selecting at most {most}" if most is not None else ""
    return [
        f"In data of {samples}{counted(facts.n_features, 'feature')}, "
        f"{counted(ensemble.n_models, 'model')}{by} voted for features{drawn}{each}.",
        *_adjusted(data.adjust_for, ensemble.on_residuals or ()),
    ]


def _adjusted(covariates: Sequence[str], on_residuals: Sequence[str]) -> list[str]:
    if not covariates:
        return []
    names = listing(covariates, len(covariates))
    how = f" ({listing(on_residuals)}: on residuals of the features)" if on_residuals else ""
    return [f"Features were scored after adjusting for {names}{how}."]


def _prior(prior: PriorFacts | None, references: list[str]) -> list[str]:
    if prior is None:
        return []
    cited, reference = _PRIORS.get(prior.kind, ("", ""))
    references += [reference] if reference else []
    kind = f"{prior_name(prior.kind)}{f' ({cited})' if cited else ''}"
    learned = prior.trust_in_lists == LEARNED
    if not prior.weights and not prior.unlikely and not learned:
        return [f"No prior knowledge was used ({kind}, weight {rounded(prior.default)} for every feature)."]
    weights = stated_weights(prior)
    which = "prior weights in votes, as far as the votes agreed" if learned else "prior weights in votes"
    stated = f"{which}: {listing(weights, _LISTED)}" if weights else "no list kept its weight" if learned else ""
    unlikely = f"held unlikely: {listing(prior.unlikely, _LISTED)}" if prior.unlikely else ""
    who = f"{counted(len(prior.experts), 'expert')}" if prior.experts else "Experts"
    statement = "; ".join(filter(None, [kind, stated, unlikely]))
    by_votes = (
        "Lists of three or more features kept a weight only if they had more votes than random features (2,000 "
        "random sets, false discovery rate 0.2); lists longer than the set, at most half of the models' votes."
    )
    return [
        f"{who} stated prior knowledge ({statement}; all other weights {rounded(prior.default)}).",
        *([by_votes] if learned else []),
    ]


def _constraints(facts: ReportFacts) -> list[str]:
    used = [entry.label for entry in facts.constraints if not entry.inactive and not entry.from_prior]
    return [f"Side constraints: {'; '.join(used)}."] if used else ["There were no side constraints."]


def _optimum(facts: ReportFacts) -> str:
    kind = facts.decision.get("optimizer_kind", "")
    how = {"exact": " by exact optimization", "genetic": " by a genetic algorithm"}.get(kind, "")
    proved = ", and proved to be the best" if facts.proved else ""
    members = counted(len(facts.chosen), "feature")
    return (
        f"The set of {members} with the highest score (posterior importances plus admissibility under the constraints) "
        f"was found{how}{proved}."
    )


def _trust(trust: TrustFacts, references: list[str]) -> list[str]:
    parts = {"related": trust.related, "reproducibility": trust.reproducibility, "validation": trust.validation}
    n_repeats = {name: part.n_done for name, part in parts.items() if isinstance(part, Examined)}
    references += _BOUNDS if "related" in n_repeats else ()
    references += [_INTERVALS] if "validation" in n_repeats else []
    return [_REPEATED[part][1].format(counted(n_done, _REPEATED[part][0])) for part, n_done in n_repeats.items()]


def _software(facts: ReportFacts) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items() if name != "ubayfs")
    seed = None if facts.ensemble is None else facts.ensemble.seed
    entropy = seed.get("entropy") if isinstance(seed, Mapping) else seed
    return f"Software: {versions}" + ("." if entropy is None else f"; random seed {entropy}.")
