"""The answer that pages show: what each stage of the worker found, as far as it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..plotting.profile import ProfileDisplay
from ..report.answer_facts import with_substitutes
from ..report.facts import (
    AdviceFact,
    Alternative,
    Answer,
    ChosenFeature,
    ConstraintFact,
    Fact,
    LeftOutFact,
    SubstituteFact,
)
from ..report.plots import Plot


@dataclass(frozen=True)
class SetStage:
    """The best set, with the proof, and what the last change did to it."""

    value: float
    gap: float | None
    proved: bool
    features: tuple[str, ...]
    chosen: tuple[ChosenFeature, ...]  # with votes and weights alone
    advice: tuple[AdviceFact, ...]
    seconds: float
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    cost: float | None = None  # of its features, if there is a budget
    measured: tuple[str, ...] = ()  # anyway, to which these are added


@dataclass(frozen=True)
class PlotsStage:
    """The chosen features in the data: with their effects, plots, and a heat map if samples have an order."""

    chosen: tuple[ChosenFeature, ...]
    plots: tuple[Plot, ...]
    heat: ProfileDisplay | None


@dataclass(frozen=True)
class AlternativesStage:
    """Sets that are almost as good, and what could take the place of each member; a score of 1 is `votes` votes."""

    alternatives: tuple[Alternative, ...]
    substitutes: tuple[SubstituteFact, ...]
    votes: float | None = None


@dataclass(frozen=True)
class LeftOutStage:
    """Strong features that are not in the set, and the constraints with what they cost."""

    left_out: tuple[LeftOutFact, ...]
    examined: bool
    constraints: tuple[ConstraintFact, ...]


@dataclass(frozen=True)
class FigureFact:
    """A figure that can be drawn."""

    section: str
    caption: str


@dataclass(frozen=True)
class StageError:
    """Why a stage found nothing."""

    message: str


@dataclass(frozen=True)
class StagedAnswer:
    """An answer by stages; those that are not there yet are None."""

    revision: int = -1  # of the state that it answers
    set: SetStage | None = None
    reasons: Answer | None = None
    plots: PlotsStage | None = None
    alternatives: AlternativesStage | None = None
    left_out: LeftOutStage | None = None
    figures: Mapping[str, FigureFact] | None = None
    trust: Answer | None = None
    errors: Mapping[str, str] = field(default_factory=dict)  # by stage

    @property
    def is_explained(self) -> bool:
        """Whether it is known, or cannot be, what could take the place of each member."""
        return self.alternatives is not None or "alternatives" in self.errors

    @property
    def latest(self) -> Answer | None:
        """The facts of the answer with all that is known of other samples."""
        return self.trust or self.reasons

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The three facts of trust; none before the reasons."""
        return () if self.latest is None else self.latest.facts

    @property
    def members(self) -> tuple[ChosenFeature, ...]:
        """The chosen features from all stages that there are, most important first."""
        facts = self.latest or self.set
        substitutes = () if self.alternatives is None else self.alternatives.substitutes
        return () if facts is None else with_substitutes(facts.chosen, substitutes)

    @property
    def constraints(self) -> tuple[ConstraintFact, ...] | None:
        """The constraints, with what they cost once that is known."""
        facts = self.left_out or self.reasons
        return None if facts is None else facts.constraints


@dataclass(frozen=True)
class SizePoint:
    """The highest score, in votes, that sets of one size reach, how many members are related, at least, and cost."""

    size: int
    votes: float
    related: int | None
    cost: float | None = None  # where there is a budget
