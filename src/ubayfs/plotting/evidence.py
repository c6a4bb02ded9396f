"""Votes and prior weights of the leading features, with constraints and blocks beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._plain import counted
from ..constraints import resolve
from ..data.blocks import Blocks
from ..decision.selection import Selection
from . import style
from .base import Display, at, blocks_of, shown_of, top_features, with_support
from .links import Links, draw_links, find_links, headings_height, links_width, named_members


@dataclass(frozen=True)
class EvidenceDisplay(Display):
    """Stacked bars of votes and prior weights, most important feature on top.

    Beside the bars stand a mark for each chosen feature, its blocks, and a line with a circle per member for each
    constraint: full where the member is chosen, thick and in color where the constraint is violated.
    """

    features: tuple[str, ...]  # the chosen ones and the leading ones
    votes: tuple[float, ...]  # how many models chose each; its importance when there was no ensemble
    weights: tuple[float, ...]  # of the prior, in votes
    chosen: tuple[bool, ...]
    blocks: tuple[tuple[str, ...], ...]  # names of the blocks of each feature
    links: Links
    n_features: int  # of the whole selection, as the next
    n_chosen: int
    n_models: int | None  # None when there was no ensemble
    palette: tuple[str, ...] = ()  # all blocks, in the order of their colors: the same in all figures

    name: ClassVar[str] = "evidence"
    section: ClassVar[str] = "chosen"
    caption: ClassVar[str] = "Votes of the models and prior weight of each feature; selected features are marked."
    report_arguments: ClassVar[Mapping[str, str]] = {"blocks": "blocks", "max_features": "max_features"}

    @classmethod
    def from_selection(
        cls, selection: Selection, blocks: Any = None, constraints: Any = None, max_features: int = 30
    ) -> EvidenceDisplay:
        """Compute the display.

        Parameters
        ----------
        selection : Selection
        blocks : mapping of name to features, DataFrame (feature, block) or Blocks, optional
        constraints : Constraint or iterable of Constraint, optional
            Default: all that the selection was made with; a selection read from a file has none.
        max_features : int, default 30
            Shown features; more when more are chosen.

        Examples
        --------
        >>> from ubayfs import Evidence, decide
        >>> evidence = Evidence.from_sets([[1, 1, 0], [1, 0, 0]], ["radius", "area", "texture"])
        >>> display = EvidenceDisplay.from_selection(decide(evidence, weights={"area": 3}, max_size=1))
        >>> display.features, display.votes, display.weights
        (('area', 'radius'), (1.0, 2.0), (3.0, 0.01))
        """
        names, problem = selection.feature_names, selection.problem
        shown = top_features(selection.importance, selection.mask, max_features)
        system = None if problem is None else problem.utility.system
        if constraints is not None:
            system = resolve(constraints, names, blocks, None if problem is None else problem.data)
        shown = with_support(selection, shown, None if system is None else named_members(system))
        votes = selection.importance if selection.counts is None else selection.counts
        weights = np.zeros(len(names)) if selection.weights is None else selection.weights
        return cls(
            features=at(names, shown),
            votes=at(votes.astype(float), shown),
            weights=at(weights, shown),
            chosen=at(selection.mask, shown),
            blocks=tuple(blocks_of(Blocks.of(blocks), names, shown)),
            links=Links() if system is None else find_links(system, selection.mask, shown),
            n_features=len(names),
            n_chosen=len(selection.features),
            n_models=None if selection.posterior is None else selection.posterior.evidence.n_models,
            palette=Blocks.of(blocks).names,
        )

    @property
    def _has_votes(self) -> bool:
        return self.n_models is not None or any(self.weights)

    def _heading(self) -> tuple[str, str]:
        basis = "importance of each feature"
        if self._has_votes:
            models = "the models" if self.n_models is None else counted(self.n_models, "model")
            basis = f"votes of {models} plus prior weight"
        title = f"{self.n_chosen:,} of {counted(self.n_features, 'feature')} selected: {basis}"
        details = shown_of(len(self.features), self.n_features) + "Bold, black square: selected. "
        if self.links.drawn:
            details += "Lines join the members of a constraint; full mark: selected member, thick: violated. "
            details += self.links.marks
        if self.links.omitted:
            details += f"Not drawn: {', '.join(self.links.omitted)}. "
        if self.links.notes:
            details += f"Also: {', '.join(self.links.notes)}."
        return title, details.strip()

    def _height(self) -> float:
        return 1.45 + style.list_height(len(self.features)) + headings_height(self.links)

    def _width(self) -> float:
        # Names, blocks and constraints may need more than a page leaves beside bars that can be read.
        names = max((style.text_width(name, 8.5) for name in style.short_names(self.features)), default=0.0)
        blocks = max((style.blocks_width(each) for each in self.blocks), default=0.0)
        return max(style.WIDTH, (names + 30.0 + blocks + links_width(self.links)) / 72 + 1.6)

    def _draw(self, ax: Any) -> None:
        rows = np.arange(len(self.features))
        ax.barh(rows, self.votes, color=style.SKY, label="votes of the ensemble" if self._has_votes else "importance")
        if any(self.weights):
            each = f" ({self.weights[0]:g} each)" if len(set(self.weights)) == 1 else ""
            ax.barh(
                rows, self.weights, left=self.votes, color=style.VERMILION, hatch="/////", edgecolor="white",
                linewidth=0, label=f"prior weight{each}",
            )  # fmt: skip
        ax.set_xlim(left=0)
        if self._has_votes:
            style.whole_numbers(ax.xaxis, nbins=6)
        ax.set_xlabel("votes (number of models)" if self._has_votes else "importance")
        style.list_features(ax, self.features, self.chosen)
        marked = np.flatnonzero(self.chosen)
        ax.plot(
            np.full(len(marked), 8.0), marked, "s", color=style.BLACK, markersize=4, transform=style.right_margin(ax),
            clip_on=False, gid="selected",
        )  # fmt: skip
        style.draw_heading(ax, 8.0, "selected")
        right = 18.0
        if any(self.blocks):
            style.draw_blocks(ax, self.blocks, self.palette, right)
            right += max(map(style.blocks_width, self.blocks)) + 4.0
        draw_links(ax, self.links, self.chosen, right)
