"""All facts about an answer, computed once: what a decision shows at once, and the summary that a report is made of."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .._arguments import MOST_REPEATS, RandomState, check_int
from .._plain import plain
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..decision.selection import Selection, check_selection
from ..ensemble.collect import versions
from ..ensemble.progress import Progress, as_progress
from ..exceptions import Advice
from ..explain.attribution import attribution
from ..explain.redecide import agreement
from ..plotting import Correlations, ProfileDisplay, ReportData, report_displays
from ..trust.front import Front
from ..trust.trust import Trust
from . import answer_facts, problem_facts, sentences
from .answer_facts import with_repeats
from .cohort_facts import cohort_facts
from .facts import Answer, DataFacts, ReportFacts, Summary
from .methods import CITATION, methods
from .plot_facts import feature_plots
from .plots import Plot
from .problem_facts import advice_facts
from .relations import with_relations
from .trust_facts import trust_facts
from .trust_sentences import HERE, three_facts

if TYPE_CHECKING:
    from ..study import ResolvedStudy

FORMAT = 8


def answer_of(
    selection: Selection,
    *,
    study: ResolvedStudy | None = None,
    blocks: Any = None,
    random_state: RandomState = 0,
    trust: Trust | None = None,
) -> Answer:
    """Return the facts of the answer itself: three facts, chosen features and why, constraints, score, advice.

    This is the part of a summary that a decision shows at once. Blocks and seed are those of a `study`, if given.
    What other samples would say may be added later, by :func:`with_trust`.
    """
    check_selection(selection)
    if study is not None:
        blocks, random_state = study.decision.blocks, study.decision.random_state
    reasons = None if selection.problem is None else attribution(selection, random_state)
    unknown = trust_facts(selection, None, None if study is None else HERE)
    score = problem_facts.score_facts(selection)
    advice = (*(() if study is None else study.version_advice), *problem_facts.all_advice(selection))
    answer = Answer(
        headline=sentences.headline(len(selection.features), len(selection.feature_names), selection.measured),
        facts=three_facts(unknown),
        proof=sentences.proof(score.proved, score.complete, score.gap),
        n_features=len(selection.feature_names),
        trust=unknown,
        chosen=answer_facts.chosen_features(selection, reasons, Blocks.of(blocks)),
        sets=answer_facts.other_sets(selection, reasons),
        constraints=problem_facts.constraint_facts(selection),
        advice=advice_facts(advice),
        last_place=answer_facts.last_place(selection),
        **vars(score),
    )
    return answer if trust is None else with_trust(answer, selection, trust)


def with_trust(answer: Answer, selection: Selection, trust: Trust) -> Answer:
    """Return the answer with what other samples would say, as far as it is known."""
    facts = trust_facts(selection, trust, answer.trust.result)
    return replace(answer, trust=facts, facts=three_facts(facts), chosen=with_repeats(answer.chosen, trust))


def summarize(
    selection: Selection,
    data: Any = None,
    *,
    study: ResolvedStudy | None = None,
    settings: Mapping[str, Any] | None = None,
    blocks: Any = None,
    n_draws: int = 100,
    on_progress: Progress | bool | None = None,
    random_state: RandomState = 0,
    warnings: Iterable[Any] = (),
    created: str | None = None,
    answer: Answer | None = None,
    earlier: Summary | None = None,
    trust: Trust | None = None,
    front: Front | None = None,
) -> Summary:
    """Return the content of a report on a selection.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide` or :func:`~ubayfs.maximize`. For one read from a file, what
        needs its constraints or its posterior is left out (None, or empty).
    data : FeatureData, DataFrame or array-like of shape (n_samples, n_features), optional
        The data of the fit. Default: the `X` that the selection was decided with, if any.
    study : ResolvedStudy, optional
        The study behind the decision: has `data`, `settings`, `blocks` and `random_state`, and what the expert stated.
    settings : mapping, optional
        The study as used, in plain types; it becomes part of the summary.
    blocks : mapping of name to features, DataFrame (feature, block) or Blocks, optional
    n_draws : int, default 100
        Decisions on draws from the posterior that the selection probabilities rest on; 0 leaves them out.
    on_progress : callable or bool, optional
        True shows a progress bar (needs tqdm). A function is called as ``on_progress(done, total)`` after each of these
        decisions; when it returns False, those so far count.
    random_state : int, Generator, SeedSequence, RandomState or None, default 0
    warnings : iterable of str, Warning or Advice
        What is to be listed beside the advice of evidence, posterior and selection. A warning of the package carries
        its advice, so that what is known already is not listed a second time.
    created : str, optional
        Date of the summary. Default: now.
    answer : Answer, optional
        What :func:`answer_of` returned for this selection, which is then not computed again.
    earlier : Summary, optional
        That of another decision on the same evidence. Without data, its facts about the data are taken over, and
        its correlations if it has those of all chosen features.
    trust : Trust, optional
        What is known of other samples: related features, reproducibility, validation.
    front : Front, optional
        The best set for each size and budget, from :func:`~ubayfs.front`.

    Returns
    -------
    summary : Summary
        See :mod:`ubayfs.report.facts`; :func:`~ubayfs.report.render_json` writes it.

    Examples
    --------
    >>> from ubayfs import Evidence, decide
    >>> evidence = Evidence.from_sets([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]], ["a", "b", "c", "d"])
    >>> summary = summarize(decide(evidence, max_size=2), n_draws=0)
    >>> summary.headline
    '2 of 4 features were selected.'
    >>> summary.proof
    'Proved: under these votes, weights and constraints no other set has a higher score.'
    """
    n_draws = check_int("n_draws", n_draws, low=0, high=MOST_REPEATS)
    if study is not None:
        data = study.data if data is None else data
        blocks, random_state = study.decision.blocks, study.decision.random_state
        settings = study.standalone.to_dict() | {"versions": versions()}  # a later version keeps the present defaults
    settings, members_of = plain(settings or {}), Blocks.of(blocks)
    if answer is None:
        answer = answer_of(selection, study=study, blocks=blocks, random_state=random_state, trust=trust)
    substitutes = answer_facts.replacements(selection, random_state)
    left_out, costs = answer_facts.what_is_out(selection, random_state)
    agreed = None
    if selection.problem is not None:
        agreed = agreement(selection, blocks=blocks, random_state=random_state, node_limit=answer_facts.NODES)
    table = selection.data_of_fit(data)
    about, correlations, profile = _about_data(selection, table, settings, earlier)
    messages, further = _sorted_out(selection, warnings)
    n_listed = max(20, len(selection.features) + 8)  # so that those that just failed are seen
    report_data = ReportData(correlations, members_of, answer_facts.LEVEL, profile, trust or Trust(), front, n_listed)
    posterior = selection.posterior
    chance, n_decided = answer_facts.probabilities(selection, n_draws, random_state, as_progress(on_progress, "draws"))
    chosen = with_relations(answer.chosen, table, () if earlier is None else earlier.chosen)
    chosen = answer_facts.with_substitutes(chosen, substitutes)
    chosen = answer_facts.with_uncertainty(chosen, selection, chance, random_state)
    completed = replace(
        answer,
        advice=(*answer.advice, *advice_facts(further)),
        chosen=answer_facts.with_effects(chosen, profile),
        constraints=answer_facts.with_costs(answer.constraints, costs),
    )
    facts = ReportFacts(
        **vars(completed),
        format=FORMAT,
        title=_title(settings, about.file),
        created=created or datetime.now(UTC).isoformat(timespec="seconds"),
        data=about,
        ensemble=None if posterior is None else problem_facts.ensemble_facts(posterior.evidence),
        blocks=problem_facts.block_facts(selection, members_of, answer_facts.LEVEL, random_state),
        prior=problem_facts.prior_facts(selection),
        level=answer_facts.LEVEL,
        n_draws=n_decided,
        substitutes=substitutes,
        stand_ins=answer_facts.stand_in_pairs(selection, substitutes),
        left_out=left_out,
        left_out_known=selection.problem is not None,
        agreement=agreed,
        alternatives=answer_facts.alternatives(selection),
        front=front,
        correlation=problem_facts.correlation_facts(selection, correlations),
        profile=profile,
        decision=plain({key: value for key, value in selection.provenance.items() if key != "knowledge"}),
        study=settings or None,
        versions={"python": platform.python_version(), **versions()},
        citation=CITATION,
        displays=plain(report_displays(selection, report_data)),
        cohorts=cohort_facts(selection),
        plots=feature_plots(table, chosen) if table is not None else _earlier_plots(selection, earlier),
    )
    return sentences.with_sentences(facts, methods(facts), messages)


def _about_data(
    selection: Selection, data: FeatureData | None, settings: Mapping[str, Any], earlier: Summary | None
) -> tuple[DataFacts, Correlations | None, ProfileDisplay | None]:
    """Return the data at a glance, correlations, and the chosen features in the data.

    Without data these are those of the summary of an earlier decision, as far as it knows all chosen features.
    """
    if data is not None:
        about = problem_facts.data_facts(selection, data, settings)
        return about, problem_facts.correlations_of(selection, data.X), problem_facts.profile_of_data(selection, data)
    if earlier is None:
        return problem_facts.data_facts(selection, None, settings), None, None
    profile = earlier.profile
    covered = profile is not None and set(selection.features) <= set(profile.features)
    return earlier.data, earlier_correlations(selection, earlier), profile if covered else None


def _earlier_plots(selection: Selection, earlier: Summary | None) -> tuple[Plot, ...]:
    """Return the plots of an earlier decision whose features are all chosen."""
    plots = () if earlier is None else earlier.plots
    return tuple(plot for plot in plots if set(plot.features) <= set(selection.features))


def with_advice(summary: Summary, advice: Iterable[Advice]) -> Summary:
    """Return a summary with further advice, which is among the warnings of the report."""
    facts = advice_facts(advice)
    warnings = (*summary.warnings, *(fact.message for fact in facts))
    return replace(summary, advice=(*summary.advice, *facts), warnings=warnings)


def earlier_correlations(selection: Selection, earlier: Summary | None) -> Correlations | None:
    """Return the correlations among the chosen features that the summary of another decision has; else None."""
    correlations = None if earlier is None or earlier.correlation is None else earlier.correlation.correlations
    return correlations if correlations is not None and correlations.cover(selection.features) else None


def _sorted_out(selection: Selection, warnings: Iterable[Any]) -> tuple[list[str], list[Advice]]:
    """Return those warnings that are mere messages, each once, and advice that the selection does not have."""
    messages: dict[str, None] = {}
    further: list[Advice] = []
    shown = problem_facts.all_advice(selection)
    for warning in warnings:
        advice = warning if isinstance(warning, Advice) else getattr(warning, "advice", None)
        if advice is None:
            messages[str(warning)] = None
        elif advice not in shown and advice not in further:
            further.append(advice)
    return list(messages), further


def _title(settings: Mapping[str, Any], file: str | None) -> str:
    """Return the name of a study, else of its file."""
    return str(settings.get("title") or file or "Feature selection")
