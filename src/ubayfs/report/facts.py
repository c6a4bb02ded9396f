"""The facts about an answer: frozen values with codes and numbers, which report, app and command line show.

A :class:`Summary` is all of them; ``summary.json`` is its plain form (:func:`ubayfs._plain.plain`), which
:func:`ubayfs._plain.decode` reads. Names of fields are its keys; what has a default may be missing in results of
earlier versions. Numbers are not rounded. What is not known, or no finite number, is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .._plain import HARD, Rho, absent_if_none, cost_text, formerly, written_as
from ..exceptions import Advice
from ..explain.left_out import Change, LeftOut
from ..explain.redecide import Agreement, StandIn, Substitute
from ..plotting.base import Correlations
from ..plotting.profile import ProfileDisplay
from ..priors.knowledge import AS_STATED
from ..trust.front import Front
from .plots import Plot

Names = tuple[str, ...]
Price = float | tuple[float, ...]


@dataclass(frozen=True)
class AdviceFact:
    """What a careful reader must know: advice, and its sentence in a report."""

    code: str
    facts: Mapping[str, Any]
    message: str

    @property
    def advice(self) -> Advice:
        """The advice itself."""
        return Advice.from_dict({"code": self.code, "facts": self.facts})


# -- the chosen features -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VotesFor:
    """Votes for a feature that was not selected as it is: for a curve, or together with another feature."""

    votes: int
    with_: str | None  # None: a curve


@dataclass(frozen=True)
class MarkedClass:
    """The class, or label, that a feature tells best from all other samples."""

    label: str
    level: str | None  # of a category without order, whose indicator is meant
    d: float | None  # Somers' D, above 0 where the feature is higher, or the level more frequent, in the class


@dataclass(frozen=True)
class Category:
    """The levels of a feature with levels, and their numbers of samples."""

    labels: Names
    ordered: bool
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Associations:
    """Associations of a feature with each covariate, and with the target before and after adjusting for them."""

    covariates: Mapping[str, float | None]
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Bend:
    """A U-shaped relation to the target: that of the distance of a feature's ranks from their middle.

    The effect is as that of features; of survival it is a hazard ratio per standard deviation, with its interval.
    """

    kind: str  # difference, share, correlation or hazard
    effect: float | None
    outer: str = ""  # the class whose samples are farthest from the middle
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ChosenFeature:
    """A chosen feature; the columns of ``selected_features.csv``, in this order."""

    feature: str
    position: int = -1
    blocks: Names = ()
    identical_to: Names = ()
    count: int | None = None  # votes
    share: float | None = None  # of the models
    weight: float | None = None
    importance: float | None = None
    low: float | None = None  # end of the credible interval of the importance
    high: float | None = None
    probability: float | None = None  # of being selected, over draws from the posterior
    without_prior: bool | None = None  # whether it is chosen all the same
    without_constraints: bool | None = None
    data_alone: bool | None = None
    reasons: Names = ()
    weight_not_needed: bool = False
    votes_for: tuple[VotesFor, ...] = ()
    without_vote: bool = False
    tied: bool | None = None
    why: str | None = None
    source: str | None = None
    experts: Mapping[str, Any] | None = None
    changed_after_votes: str | None = None  # when
    # What other samples would say.
    q: float | None = None
    related: bool | None = None
    selected_again: str | None = formerly("chosen_again", None)
    again_with_weights: str | None = None
    frequency: float | None = None
    half_low: float | None = None  # share of models on half of the samples, 5 and 95 %
    half_high: float | None = None
    # The best set without it.
    substitute: Names | None = None
    substitute_votes: tuple[int, ...] | None = None
    substitute_cost: float | None = None
    replaceable: bool | None = None
    # How it is related to the target.
    hazard_ratio: float | None = None
    hazard_low: float | None = None  # ends of its 95 % interval
    hazard_high: float | None = None
    beyond: Associations | None = None
    marks: MarkedClass | None = None
    category: Category | None = None
    effect: float | None = None
    effect_kind: str | None = None
    highest_in: str | None = None
    effect_clear: bool | None = None
    bend: Bend | None = None
    gene: str | None = None  # its symbol or Ensembl id, where features are named by genes

    @property
    def main_votes(self) -> tuple[VotesFor, ...]:
        """What else than the feature as it is at least a third of its votes were for."""
        return tuple(each for each in self.votes_for if 3 * each.votes >= (self.count or 0))

    @property
    def is_bent(self) -> bool:
        """Whether the relation to the target is U-shaped in the data, or was in more than half of its votes."""
        voted = (each.with_ is None and 2 * each.votes > (self.count or 0) for each in self.votes_for)
        return self.bend is not None or any(voted)


@dataclass(frozen=True)
class SetChange:
    """Another set, and how it differs from the chosen one."""

    features: Names
    added: Names
    removed: Names


@dataclass(frozen=True)
class SetWithoutPrior(SetChange):
    """The set without weights; members that no model selected only fill its places."""

    filling: Names = ()


@dataclass(frozen=True)
class OtherSets:
    """What less knowledge would choose; None where that is not known."""

    without_prior: SetWithoutPrior | None
    without_constraints: SetChange | None
    data_alone: SetChange | None

    def __iter__(self) -> Any:
        return iter((self.without_prior, self.without_constraints, self.data_alone))


@dataclass(frozen=True)
class Alternative(SetChange):
    """One of the next best sets."""

    value: float | None
    loss: float | None
    as_good: bool
    proved: bool
    jaccard: float
    n_violated: int


@dataclass(frozen=True)
class SubstituteFact(Substitute):
    """What is chosen if a member cannot be, with the votes of what is added."""

    added_votes: tuple[int, ...] | None = None

    @property
    def cost(self) -> float | None:
        """What the set loses, in votes; in units of the score where there are none."""
        return self.loss if self.loss_votes is None else self.loss_votes


@dataclass(frozen=True)
class StandInPair(StandIn):
    """A feature that models took in place of a member."""

    member: str
    member_votes: int


@dataclass(frozen=True)
class LeftOutFact(LeftOut):
    """Why a feature is out, with the kinds of the constraints that keep it out."""

    kinds: Names = ()


# -- constraints -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ViolatedInequality:
    """An inequality that the set violates."""

    label: str
    violation: float
    rho: Rho
    admissibility: float


@dataclass(frozen=True)
class ConstraintFact:
    """A constraint: what it is, whether it holds, how strictly it is meant, and what it costs."""

    label: str
    kind: str
    arguments: Mapping[str, Any]
    note: str
    title: str
    from_prior: bool  # stands for features that were stated to be unlikely
    inactive: bool = field(metadata=written_as("left_out"))  # rho or price is 0
    n_inequalities: int | None
    n_violated: int
    holds: bool
    violation: float
    admissibility: float
    worst: tuple[ViolatedInequality, ...]
    rho: Rho | None  # the lowest and the highest of its inequalities; None if they are not known
    rho_highest: Rho | None
    price: Price | None = None
    price_votes: Price | None = None
    # What the set would gain without it, or with one more place.
    cost: float | None = None
    cost_votes: float | None = None
    cost_bound: float | None = None
    cost_bound_votes: float | None = None
    added_without: Names | None = None
    removed_without: Names | None = None
    one_more: Change | None = None

    @property
    def is_hard(self) -> bool:
        """Whether all of its inequalities always hold."""
        return self.price is None and self.rho == HARD

    @property
    def cost_text(self) -> str:
        """What the set would gain without it, in words."""
        return cost_text(self.cost_votes, self.cost, self.cost_bound_votes, self.cost_bound)


def gain_text(change: Change) -> str:
    """Return what a changed constraint brings, in words."""
    return cost_text(change.gain_votes, change.gain, change.gain_bound_votes, change.gain_bound)


# -- what other samples would say --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """What a reader must know first: a question, its answer in a word or two, then in sentences."""

    fact: str  # the part of trust
    state: str
    question: str
    value: str  # empty when it is not known
    sentences: Names
    command: str = ""  # finds out what is not known


@dataclass(frozen=True)
class Unknown:
    """A part of trust that was not examined ("missing"), could not be, or has no meaning here ("undefined")."""

    state: Literal["missing", "undefined"]
    reason: str | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Examined:
    """A part of trust that was examined by repeats; "partial" if not all of them could be used."""

    state: Literal["known", "partial"]
    n_done: int
    n_asked: int
    failures: Names


@dataclass(frozen=True)
class ShuffledVotes:
    """Members not shown by themselves that have more votes than any feature for shuffled targets."""

    n_shuffles: int
    n_models: int
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class RelatedFacts(Examined):
    """How many members are related to the target."""

    size: int
    n_features: int
    at_least: int
    best_guess: int
    without_list: int | None
    best_guess_without_list: int | None = None
    n_related_of_all: int
    n_shuffles: int
    confidence: float
    n_listed: int
    n_supported: int | None = None
    by_votes: ShuffledVotes | None = None
    limit: float
    adjust_for: Names


@dataclass(frozen=True)
class SizeAndRange:
    """Features that are counted, and how many of them are selected again, from and to."""

    size: int
    selected_again: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class ReproducibilityFacts(Examined):
    """What another study would select again."""

    n_undefined: int = 0
    size: int
    n_usually: int = 0
    lower: float | None = None
    upper: float | None = None
    interval: tuple[float | None, ...]
    selected_again: tuple[float | None, ...] = formerly("chosen_again")
    n_selected: int = 0
    by_rule: Names = ()
    by_weight: Names = ()
    filling: Names = ()
    stand_ins: tuple[float | None, ...] | None = None
    without_prior: SizeAndRange | None = None
    with_weights: SizeAndRange | None = None


@dataclass(frozen=True, kw_only=True)
class Score:
    """A mean over folds with its interval."""

    metric: str
    mean: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, kw_only=True)
class MethodScore(Score):
    """How a way of choosing predicts, and by how much ours is better."""

    method: str
    predictor: str
    difference: float | None
    difference_lower: float | None
    difference_upper: float | None


@dataclass(frozen=True, kw_only=True)
class SizeScore(Score):
    """How sets of one size predict."""

    size: int
    standard_error: float | None


@dataclass(frozen=True, kw_only=True)
class ControlScore(Score):
    """What chance alone reaches: scores with a shuffled target."""

    predictor: str


@dataclass(frozen=True)
class ForecastFact:
    """The score that is expected with so many times the samples, and its range."""

    factor: float
    n_samples: int
    value: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class ValidationFacts(Examined):
    """How the procedure predicts beside baselines; mean and interval are ours, by the main metric."""

    metric: str
    adjust_for: Names = ()
    predictor: str | None
    mean: float | None
    lower: float | None
    upper: float | None
    scores: tuple[MethodScore, ...]
    sizes: tuple[SizeScore, ...]
    best_size: int | None
    one_se_size: int | None
    control: tuple[ControlScore, ...]
    growth: tuple[ForecastFact, ...] = ()  # with 1, 1.5, 2 and 4 times the samples
    plot: Plot | None = None


@dataclass(frozen=True)
class GeneSetFact:
    """A gene set: its measured genes, the selected ones, and its association with the target."""

    name: str
    n_measured: int
    selected: Names
    strength: float
    by_chance: float
    p: float
    q: float


@dataclass(frozen=True)
class GeneSetsFacts:
    """All gene sets, those of the smallest p-value first."""

    n_shuffles: int
    sets: tuple[GeneSetFact, ...]


@dataclass(frozen=True)
class TrustFacts:
    """What is known of other samples."""

    level: str | None
    result: str | None  # directory that commands name; None: the answer is from Python; "": no command helps
    n_chosen: int
    validation: ValidationFacts | Unknown
    reproducibility: ReproducibilityFacts | Unknown
    related: RelatedFacts | Unknown = Unknown("missing")
    gene_sets: GeneSetsFacts | None = None


# -- what was asked ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassCount:
    """A class or label, and its samples."""

    label: str
    count: int


@dataclass(frozen=True)
class Spread:
    """The numbers of a target."""

    lowest: float | None
    median: float | None
    highest: float | None


@dataclass(frozen=True)
class MissingFact:
    """Missing values, and what was done about them."""

    rule: str
    n_values: int
    n_features: int
    n_samples: int
    features: Names
    words: str


@dataclass(frozen=True)
class DataFacts:
    """The data at a glance."""

    file: str | None
    target: Any  # column, columns, or time and event, as in the study
    n_samples: int | None
    n_features: int
    task: str | None
    classes: tuple[ClassCount, ...]
    range: Spread | None
    follow_up: float | None = None
    groups: int | None = None
    adjust_for: Names = ()
    n_constant: int | None = None
    constant: Names = ()  # the first of them
    missing: MissingFact | None = None
    measured: Names = ()  # anyway; they are among `adjust_for`


@dataclass(frozen=True)
class SetSizes:
    """How many features models selected."""

    smallest: int
    median: float
    largest: int


@dataclass(frozen=True)
class StabilityFact:
    """How much the models agree."""

    value: float
    low: float | None
    high: float | None
    confidence: float


@dataclass(frozen=True)
class FailureCount:
    """An error of runs."""

    error: str
    times: int


@dataclass(frozen=True)
class EnsembleFacts:
    """How the evidence was made; settings that parts of merged evidence do not share are None."""

    n_models: int
    selector: Names
    selector_kinds: Names
    selector_names: Names
    train_size: float | None
    n_features_per_model: int | str | None
    most_features_per_model: int | None
    seed: Any
    grouped: bool | None
    set_sizes: SetSizes | None  # None: of several sites, which send votes only
    n_voted: int
    stability: StabilityFact | None
    n_failures: int
    failures: tuple[FailureCount, ...]
    versions: Mapping[str, str] | None
    on_residuals: Names | None = None


@dataclass(frozen=True)
class Reason:
    """What an expert stated of a feature, and why."""

    feature: str
    chosen: bool
    weight: int | float | str | None = None
    why: str = ""
    source: str = ""
    price: float | None = absent_if_none()
    disagreement: float | None = absent_if_none()
    experts: Mapping[str, Any] | None = absent_if_none()
    changed_after_votes: str | None = absent_if_none()


@dataclass(frozen=True)
class ExpertWords:
    """What one of several experts stated of a feature."""

    weight: int | float | str | None = absent_if_none()
    why: str | None = absent_if_none()
    source: str | None = absent_if_none()
    price: float | None = absent_if_none()
    changed_after_votes: str | None = absent_if_none()


@dataclass(frozen=True)
class Opinion:
    """What several experts stated of a feature, and by how many votes they disagree."""

    feature: str
    chosen: bool
    experts: Mapping[str, ExpertWords]
    weight: int | float | str | None = None
    price: float | None = None
    disagreement: float | None = None
    why: str = ""
    source: str = ""
    changed_after_votes: str | None = absent_if_none()


@dataclass(frozen=True)
class PriorFacts:
    """What the experts stated: every weight that is not the most common one, what is unlikely, and the reasons."""

    kind: str
    default: float
    is_default_weight: bool
    weights: Mapping[str, float]
    words: Mapping[str, str]
    unlikely: Names
    opinions: tuple[Opinion, ...]
    reasons: tuple[Reason, ...]
    experts: Names | None = None
    pool: str | None = None
    confirmed: str | None = None
    confirmed_by: Mapping[str, str] | None = None
    trust_in_lists: str = AS_STATED
    changed_after_votes: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, int] = field(default_factory=dict)  # of the models, for what has a weight of its own


@dataclass(frozen=True)
class BlockFact:
    """A block of features, and the posterior mean and credible interval of the importance of all of them together."""

    name: str
    n_features: int
    n_selected: int | None = None
    importance: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CorrelatedPair:
    """Two features and their correlation."""

    first: str
    second: str
    value: float


@dataclass(frozen=True)
class CorrelationFacts:
    """Rank correlations among the chosen features."""

    method: str
    redundancy: float | None
    features: Names
    matrix: tuple[tuple[float, ...], ...] | None  # None for very many
    strongest: tuple[CorrelatedPair, ...]
    # Also with features that another decision may choose.
    correlations: Correlations | None = field(metadata=written_as("known"))


# -- all of it ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LegendEntry:
    """What marks mean."""

    marks: Names
    meaning: str


@dataclass(frozen=True)
class Methods:
    """A paragraph for the methods section of a paper, and the references that it cites."""

    text: str
    references: Names


@dataclass(frozen=True)
class Citation:
    """What to cite."""

    text: str
    doi: str
    bibtex: str


@dataclass(frozen=True, kw_only=True)
class ScoreFacts:
    """The score of the chosen set, its parts, and whether it is proved to be the best."""

    value: float
    bound: float | None
    gap: float | None
    complete: bool
    proved: bool
    importance: float
    admissibility: float
    log_admissibility: float | None
    constraint_strength: float | None
    min_votes: int


@dataclass(frozen=True, kw_only=True)
class Answer(ScoreFacts):
    """What a decision shows at once: three facts, chosen features and why, constraints, score, advice."""

    headline: str
    facts: tuple[Fact, ...]
    proof: str
    n_features: int
    trust: TrustFacts
    chosen: tuple[ChosenFeature, ...]
    sets: OtherSets
    constraints: tuple[ConstraintFact, ...]
    advice: tuple[AdviceFact, ...]
    last_place: Names = ()  # features that would do as well as the least important one

    @property
    def names(self) -> Names:
        """The names of the chosen features."""
        return tuple(member.feature for member in self.chosen)


@dataclass(frozen=True)
class SiteFact:
    """A site whose evidence is pooled."""

    name: str
    n_samples: int
    classes: tuple[ClassCount, ...]
    n_measured: int  # features
    min_votes_sent: int


@dataclass(frozen=True)
class SiteVotes:
    """What each site found of a feature."""

    feature: str
    votes: tuple[int | None, ...]  # of 100 models; None: not measured
    directions: tuple[int, ...]
    concordance: float | None
    pooled: int


@dataclass(frozen=True, kw_only=True)
class CohortFacts:
    """What each site found of the selected features, and whether a site that is left out selects them."""

    sites: tuple[SiteFact, ...]
    members: tuple[SiteVotes, ...]
    higher_in: str | None  # the class that features of direction 1 are higher in
    together: bool  # whether the samples are in one table
    size: int = 0
    selected_again: tuple[float | None, ...] | None = None  # expected, lowest, highest
    is_lower_bound: bool = False
    same_direction: tuple[int, ...] | None = None  # pairs of site and member: of the same direction, and all


@dataclass(frozen=True, kw_only=True)
class ReportFacts(Answer):
    """All that the sentences of a report are made of."""

    format: int
    title: str
    created: str
    data: DataFacts
    ensemble: EnsembleFacts | None  # None: importances were given
    blocks: tuple[BlockFact, ...]
    prior: PriorFacts | None
    level: float  # of credible intervals
    n_draws: int
    substitutes: tuple[SubstituteFact, ...]
    stand_ins: tuple[StandInPair, ...]
    left_out: tuple[LeftOutFact, ...]
    left_out_known: bool
    agreement: Agreement | None
    alternatives: tuple[Alternative, ...]
    correlation: CorrelationFacts | None
    profile: ProfileDisplay | None
    decision: Mapping[str, Any]  # as the selection records it
    study: Mapping[str, Any] | None  # as in a study file
    versions: Mapping[str, str]
    citation: Citation
    displays: Mapping[str, Mapping[str, Any]]  # see ubayfs.plotting.read_displays
    plots: tuple[Plot, ...] = ()  # of the chosen features in the data
    front: Front | None = absent_if_none()  # noqa: RUF009
    cohorts: CohortFacts | None = absent_if_none()  # noqa: RUF009 - of several sites


@dataclass(frozen=True, kw_only=True)
class Summary(ReportFacts):
    """The content of a report: the facts, and the sentences that are made of them, by the key of their section."""

    lead: str
    question: Names
    verdict: Names
    warnings: Names
    sentences: Mapping[str, Names]
    notes: Mapping[str, Names]  # below the tables of a section
    legend: tuple[LegendEntry, ...]
    methods: Methods
    brief: Mapping[str, str]
