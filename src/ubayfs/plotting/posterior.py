"""Credible intervals of the importance of the leading features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import RandomState
from .._plain import counted
from ..exceptions import InputError
from ..selection import Selection
from .base import Display, leading, shown_of, with_support
from .style import BLUE, GREY, LIGHT_GREY, list_features, list_height


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
    caption: ClassVar[str] = "Credible intervals of the importances; chosen features are marked."
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
            As in :meth:`Posterior.credible_interval <ubayfs.Posterior.credible_interval>`.
        """
        posterior = selection.posterior
        if posterior is None:
            raise InputError(
                "selection must have a posterior, as decide() returns it; importances given directly and selections "
                "read from a file have none."
            )
        lower, upper = posterior.credible_interval(level, n_draws, random_state)
        shown = with_support(selection, leading(posterior.mean, selection.mask, max_features))
        return cls(
            features=tuple(selection.feature_names[shown].tolist()),
            mean=tuple(posterior.mean[shown].tolist()),
            lower=tuple(lower[shown].tolist()),
            upper=tuple(upper[shown].tolist()),
            chosen=tuple(selection.mask[shown].tolist()),
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
        rows = np.arange(len(self.features))
        mean, lower, upper, chosen = map(np.asarray, (self.mean, self.lower, self.upper, self.chosen))
        ax.hlines(rows, 0, upper.max(initial=0.0), color=LIGHT_GREY, linewidth=0.4, zorder=0)
        for marked, color, face, marker, width, words in (
            (True, BLUE, BLUE, "s", 2.2, "chosen"),
            (False, GREY, "white", "o", 1.1, "not chosen"),
        ):
            some = np.flatnonzero(chosen == marked)
            if not len(some):
                continue
            ax.hlines(rows[some], lower[some], upper[some], color=color, linewidth=width, gid=words)
            ax.plot(
                mean[some], rows[some], marker, markersize=4, color=color, markerfacecolor=face, linestyle="none",
                clip_on=False, zorder=3,
                label=f"posterior mean, {words}",
            )  # fmt: skip
        ax.set_xlim(left=0)
        ax.set_xlabel("posterior importance (all features together: 1)")
        list_features(ax, self.features, self.chosen)
