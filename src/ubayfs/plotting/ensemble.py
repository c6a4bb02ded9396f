"""How sure the ensemble is: intervals of the top features and of blocks, and shares of votes by number of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import Array, Floats, Ints, RandomState, check_int
from .._plain import counted
from ..data.blocks import Blocks
from ..decision.selection import Selection
from ..ensemble.evidence import Evidence
from ..exceptions import InputError
from ..priors.base import Posterior
from .base import Display, ReportData, at, shown_of, top_features, with_support
from .style import (
    BLACK,
    BLUE,
    GREY,
    LIGHT_GREY,
    VERMILION,
    divided,
    draw_marks,
    label_lines,
    list_features,
    list_height,
    short_names,
)

_MOST_POINTS = 100
_MOST_LINES = 12  # of selected features


@dataclass(frozen=True)
class PosteriorDisplay(Display):
    """Posterior mean and credible interval of each importance, most important feature on top."""

    features: tuple[str, ...]  # the chosen ones and the leading ones
    mean: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    chosen: tuple[bool, ...]
    level: float  # posterior probability of each interval
    prior: str
    n_features: int  # of the whole selection, as the next
    n_chosen: int
    n_models: int

    name: ClassVar[str] = "posterior"
    section: ClassVar[str] = "ensemble"
    caption: ClassVar[str] = "Credible intervals of the importances; selected features are marked."
    report_arguments: ClassVar[Mapping[str, str]] = {"level": "level", "max_features": "max_features"}

    @classmethod
    def from_selection(
        cls,
        selection: Selection,
        level: float = 0.9,
        max_features: int = 30,
        n_draws: int = 1000,
        random_state: RandomState = 0,
    ) -> PosteriorDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
            From :func:`~ubayfs.decide`; one read from a file has none.
        level : float in (0, 1), default 0.9
        max_features : int, default 30
            Shown features; more when more are chosen.
        n_draws, random_state
            As in :meth:`Posterior.credible_interval <ubayfs.priors.Posterior.credible_interval>`.
        """
        posterior = _posterior_of(selection)
        lower, upper = posterior.credible_interval(level, n_draws, random_state)
        shown = with_support(selection, top_features(posterior.mean, selection.mask, max_features))
        return cls(
            features=at(selection.feature_names, shown),
            mean=at(posterior.mean, shown),
            lower=at(lower, shown),
            upper=at(upper, shown),
            chosen=at(selection.mask, shown),
            level=float(level),
            prior=posterior.prior,
            n_features=len(selection.feature_names),
            n_chosen=len(selection.features),
            n_models=posterior.evidence.n_models,
        )

    def _heading(self) -> tuple[str, str]:
        title = f"How sure the ensemble is: {100 * self.level:g} % credible intervals of the importances"
        details = (
            f"{shown_of(len(self.features), self.n_features)}{self.prior.capitalize()} prior, "
            f"{counted(self.n_models, 'model')}. Intervals narrow with the number of models, not of samples."
        )
        return title, details

    def _height(self) -> float:
        return 1.1 + list_height(len(self.features))

    def _draw(self, ax: Any) -> None:
        _draw_intervals(ax, self.features, self.mean, self.lower, self.upper, self.chosen)
        ax.set_xlabel("posterior importance (all features together: 1)")


@dataclass(frozen=True)
class BlocksDisplay(Display):
    """Posterior mean and credible interval of the importance of each block, most important block on top."""

    blocks: tuple[str, ...]
    n_features: tuple[int, ...]  # of each block
    mean: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    chosen: tuple[bool, ...]  # whether a selected feature is in it
    level: float  # posterior probability of each interval
    n_blocks: int  # shown or not
    n_models: int

    name: ClassVar[str] = "blocks"
    section: ClassVar[str] = "ensemble"
    caption: ClassVar[str] = (
        "Credible intervals of the importance of each block, the sum over its features; blocks with a selected "
        "feature are marked."
    )
    report_arguments: ClassVar[Mapping[str, str]] = {"blocks": "blocks", "level": "level"}

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether there are blocks, and a posterior."""
        return selection.posterior is not None and len(data.blocks) > 0

    @classmethod
    def from_selection(
        cls, selection: Selection, blocks: Any, level: float = 0.9, max_blocks: int = 30, random_state: RandomState = 0
    ) -> BlocksDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
            From :func:`~ubayfs.decide`; one read from a file has none.
        blocks : Blocks, mapping or DataFrame
        level : float in (0, 1), default 0.9
        max_blocks : int, default 30
            Shown blocks, those of the highest importance.
        random_state
            As in :meth:`Posterior.blocks <ubayfs.priors.Posterior.blocks>`.
        """
        posterior = _posterior_of(selection)
        resolved = Blocks.of(blocks)
        importance = posterior.blocks(resolved, level, random_state=random_state)
        touched = resolved.matrix(selection.feature_names) @ selection.mask
        shown = np.argsort(-importance.mean, kind="stable")[: check_int("max_blocks", max_blocks, low=1)]
        return cls(
            blocks=at(np.array(importance.names, dtype=object), shown),
            n_features=at(np.array(importance.n_features), shown),
            mean=at(importance.mean, shown),
            lower=at(importance.lower, shown),
            upper=at(importance.upper, shown),
            chosen=at(np.asarray(touched, dtype=bool), shown),
            level=importance.level,
            n_blocks=len(resolved),
            n_models=posterior.evidence.n_models,
        )

    def _heading(self) -> tuple[str, str]:
        n_shown = len(self.blocks)
        shown = f"{n_shown:,} of {self.n_blocks:,} blocks shown. " if n_shown < self.n_blocks else ""
        details = f"{shown}Numbers of features in brackets. {counted(self.n_models, 'model')}."
        return f"Importance of the blocks, {100 * self.level:g} % credible intervals", details

    def _height(self) -> float:
        return 1.1 + list_height(len(self.blocks))

    def _draw(self, ax: Any) -> None:
        labels = [f"{name} ({n:,})" for name, n in zip(self.blocks, self.n_features, strict=True)]
        _draw_intervals(ax, labels, self.mean, self.lower, self.upper, self.chosen)
        ax.set_xlabel("posterior importance (all features together: 1)")


@dataclass(frozen=True)
class ConvergenceDisplay(Display):
    """Share of the models that chose a feature, after the first m models; one line per feature."""

    n_models: tuple[int, ...]  # horizontal positions, at most 100
    features: tuple[str, ...]  # chosen ones, then the strongest runners-up, each group by falling number of votes
    shares: tuple[tuple[float, ...], ...]
    chosen: tuple[bool, ...]
    # Part of the n_leading features with most votes in the end that led already after m models; ties by position.
    agreement: tuple[float, ...]
    n_leading: int  # as many as are chosen, at least one
    n_chosen: int  # shown or not

    name: ClassVar[str] = "convergence"
    section: ClassVar[str] = "ensemble"
    caption: ClassVar[str] = "Share of votes against the number of models: flat lines have converged."

    @classmethod
    def applies(cls, selection: Selection, data: ReportData) -> bool:
        """Return whether the sets of all models are known; sites send votes only."""
        return selection.posterior is not None and selection.posterior.evidence.votes is None

    @classmethod
    def from_selection(
        cls, selection: Selection, evidence: Evidence | None = None, n_runners_up: int = 5
    ) -> ConvergenceDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        evidence : Evidence, optional
            Default: that of the selection; one read from a file has none.
        n_runners_up : int, default 5
            Features with most votes among those not chosen.

        Notes
        -----
        Of more than twelve chosen features, twelve are shown, evenly from the one with most votes to the one with
        fewest.
        """
        n_runners_up = check_int("n_runners_up", n_runners_up, low=0)
        if evidence is None and selection.posterior is not None:
            evidence = selection.posterior.evidence
        if isinstance(evidence, Evidence) and evidence.votes is not None:
            raise InputError.of("evidence", "has votes only, of several sites; this display needs the sets of models.")
        if not isinstance(evidence, Evidence) or not np.array_equal(evidence.feature_names, selection.feature_names):
            raise InputError(
                "evidence must be the Evidence that the selection was made from, over the same features; pass it "
                "when importances were given directly or the selection was read from a file."
            )
        mask = selection.mask
        order = np.argsort(-evidence.counts, kind="stable")
        members = order[mask[order]]
        if len(members) > _MOST_LINES:
            members = members[np.linspace(0, len(members) - 1, _MOST_LINES).round().astype(np.intp)]
        shown = np.concatenate([members, order[~mask[order]][:n_runners_up]])
        n_leading = max(len(selection.features), 1)
        points, shares, agreement = _history(evidence, shown, n_leading)
        return cls(
            n_models=tuple(points.tolist()),
            features=at(selection.feature_names, shown),
            shares=tuple(map(tuple, shares.T.tolist())),
            chosen=at(mask, shown),
            agreement=tuple(agreement.tolist()),
            n_leading=n_leading,
            n_chosen=len(selection.features),
        )

    def _heading(self) -> tuple[str, str]:
        settled = self._settled()
        title = f"Has the ensemble converged? Share of votes after 1 to {self.n_models[-1]:,} models"
        details = (
            "Solid line, bold: selected; dashed: strongest of the others. "
            f"Below: how many of the {counted(self.n_leading, 'feature')} with most votes in the end led already; "
            f"all of them from model {settled:,} on."
        )
        if sum(self.chosen) < self.n_chosen:
            details += f" {sum(self.chosen)} of {self.n_chosen:,} selected features shown."
        return title, details

    def _settled(self) -> int:
        """Return the number of models from which on the leading features never changed."""
        wrong = [i for i, part in enumerate(self.agreement) if part < 1.0]
        return self.n_models[wrong[-1] + 1 if wrong else 0]

    def _height(self) -> float:
        return 4.2 + 0.08 * max(len(self.features) - 8, 0)

    def _draw(self, ax: Any) -> None:
        last = self.n_models[-1]
        ax.set_xlim(min(1, last - 1), last)
        ax.set_ylim(0, 1.02)
        ax.set_ylabel("share of the models\nthat selected the feature")
        colors = [BLUE if marked else VERMILION for marked in self.chosen]
        for values, marked, color in zip(self.shares, self.chosen, colors, strict=True):
            ax.plot(
                self.n_models, values, color=color, linestyle="-" if marked else "--", linewidth=1.1 if marked else 0.9,
                gid="selected" if marked else "runner-up",
            )  # fmt: skip
        ends = [values[-1] for values in self.shares]
        label_lines(ax, ends, short_names(self.features), colors, self.chosen)
        below = divided(ax, (4, 1))
        ax.tick_params(labelbottom=False)
        below.step(self.n_models, [self.n_leading * part for part in self.agreement], where="post", color=BLACK)
        below.set_ylim(0, 1.08 * self.n_leading)
        below.set_yticks([0, self.n_leading])
        below.set_ylabel("leading\nalready")
        below.set_xlabel("number of models")


def _posterior_of(selection: Selection) -> Posterior:
    if selection.posterior is None:
        raise InputError(
            "selection must have a posterior, as decide() returns it; importances given directly and selections "
            "read from a file have none."
        )
    return selection.posterior


def _draw_intervals(ax: Any, labels: Sequence[str], mean: Any, lower: Any, upper: Any, chosen: Sequence[bool]) -> None:
    """Draw the mean and interval of each row, first row on top; those chosen are bold."""
    rows = np.arange(len(labels))
    lower, upper, selected = map(np.asarray, (lower, upper, chosen))
    ax.hlines(rows, 0, upper.max(initial=0.0), color=LIGHT_GREY, linewidth=0.4, zorder=0)
    for mask, color, width, words in ((selected, BLUE, 2.2, "selected"), (~selected, GREY, 1.1, "not selected")):
        ax.hlines(rows[mask], lower[mask], upper[mask], color=color, linewidth=width, gid=words)
    draw_marks(ax, np.asarray(mean), rows, selected, "posterior mean, ")
    ax.set_xlim(left=0)
    list_features(ax, labels, chosen)


def _history(evidence: Evidence, shown: Ints, n_leading: int) -> tuple[Ints, Floats, Floats]:
    """Return numbers of models, shares of the shown features, and agreement of the leading ones, at each point."""
    n_models = evidence.n_models
    points = np.unique(np.linspace(1, n_models, min(n_models, _MOST_POINTS)).round().astype(np.intp))
    # Votes of the first models, of shape (n_points, n_features).
    counts = (np.arange(n_models) < points[:, np.newaxis]).astype(np.int32) @ evidence.sets
    final = _most_voted(evidence.counts, n_leading)
    agreement = np.array([np.isin(final, _most_voted(votes, n_leading)).mean() for votes in counts])
    return points, counts[:, shown] / points[:, np.newaxis], agreement


def _most_voted(counts: Array, n: int) -> Ints:
    """Return the n features with most votes; ties by position."""
    keys = np.arange(len(counts)) - counts.astype(np.int64) * len(counts)  # all different
    return np.argpartition(keys, n - 1)[:n]
