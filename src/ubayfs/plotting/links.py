"""Constraints among listed features: which to draw, and beside each other or below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import Array, Ints, Mask
from .._plain import price_text, strictness
from ..constraints.constraint import KINDS, label_of
from ..constraints.system import ConstraintSystem, Part
from ..constraints.utility import Admissibility
from .style import BLACK, VERMILION, draw_heading, right_margin, short, text_width

# How a constraint is drawn follows from its inequalities, whatever its kind: style of the line
# (None: no line), marker of a member, and the words for a mark that is not a circle.
_STYLES: dict[str, tuple[Any, str, str]] = {
    "together": ("-", "o", ""),
    "if-then": ("-.", "o", "Triangle upside down: needed by the other members. "),
    "at most": ("--", "o", ""),
    "at least": ((0, (6, 1.5)), "o", ""),
    "found in the data": (":", "o", ""),
    "required": (None, "^", "Triangle: required. "),
    "excluded": (None, "X", "Cross: excluded or unlikely; hollow when it is not selected. "),
}

_MOST_LANES = 5  # more cannot be told apart
_OWN_LANES = 2  # up to so many constraints of a kind are drawn in a lane each
_MOST_CANDIDATES = 500
_MOST_NOTES = 3
LANE = 11.0  # points


@dataclass(frozen=True)
class Link:
    """A constraint between listed features; these are given by position in the list, from 0 on top."""

    kind: str  # such as must-link
    label: str  # its kind where the members tell the rest, or its first inequality in words
    members: tuple[int, ...]
    targets: tuple[int, ...]  # of an if-then, those members that the others need
    n_members: int  # listed or not
    rho: float  # the largest of its inequalities
    violated: bool
    lane: int = 0  # column in which it is drawn; what shares a lane does not overlap
    relation: str = "together"  # of the members: a key of _STYLES
    price: str = ""  # in words, if it has one


@dataclass(frozen=True)
class Links:
    """Constraints as far as they can be drawn beside a list of features; the others in words."""

    drawn: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()  # constraints on everything or on blocks
    omitted: tuple[str, ...] = ()

    @property
    def marks(self) -> str:
        """The marks that are no circles, in words."""
        drawn = {link.relation for link in self.drawn}
        return "".join(words for relation, (*_, words) in _STYLES.items() if relation in drawn)


def find_links(system: ConstraintSystem, chosen: Mask, shown: Ints) -> Links:
    """Return the constraints among listed features, which are given by position, from top to bottom."""
    violated = Admissibility(system).violations(chosen)[0] > 0
    place = np.full(system.A.shape[1], -1)
    place[shown] = np.arange(len(shown))
    candidates: list[Link] = []
    notes: list[str] = []
    omitted: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for constraint in system.parts:
        kind, rows = kind_in_words(constraint), system.rows_of(constraint)
        if len(rows) == 0:
            continue
        A, by_names = system.A[rows], _lists_features(constraint)
        # Members that an expert listed are one link, also where they have several inequalities.
        joined = bool(by_names) and all(by_names)
        if (A.indices >= system.n_features).any() or (np.diff(A.indptr) >= system.n_features).any():
            notes.append(f"{constraint.title} ({'violated' if violated[rows].any() else 'holds'})")
            continue
        listed = _listed_inequalities(system, rows, place, violated)
        drawable = [rows][: len(listed)] if joined else list(listed[:, np.newaxis])
        candidates += [_link(system, constraint, part, place, violated) for part in drawable]
        totals[kind] += 1 if joined else len(rows)
        omitted[kind] += (1 if joined else len(rows)) - len(drawable)
    n_of_kind = Counter(link.kind for link in candidates)
    # What an expert wrote one by one stands before what holds for all pairs; then violated ones, then those on many
    # chosen features, then the strict ones.
    candidates.sort(
        key=lambda link: (
            n_of_kind[link.kind] > _OWN_LANES,
            not link.violated,
            -int(chosen[shown[list(link.members)]].sum()),
            -link.rho,
        )
    )
    drawn = _in_lanes(candidates, n_of_kind, omitted)
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"{len(notes) - _MOST_NOTES} more"]
    return Links(drawn, tuple(notes), tuple(f"{n:,} of {totals[kind]:,} {kind}" for kind, n in omitted.items() if n))


def named_members(system: ConstraintSystem) -> Mask:
    """Return the features that experts listed by name in constraints, of shape (n_features,)."""
    named = np.zeros(system.A.shape[1], dtype=bool)
    for constraint in system.parts:
        if (by_names := _lists_features(constraint)) and all(by_names):
            named[system.A[system.rows_of(constraint)].indices] = True
    return named[: system.n_features]


def kind_in_words(constraint: Part) -> str:
    """Return the kind of a constraint as figures show it, such as ``must-link``."""
    return "unlikely" if constraint.from_prior else label_of(constraint.kind)


def _lists_features(constraint: Part) -> list[bool]:
    """Return for each required argument of a constraint whether it is a list of features."""
    arguments = () if constraint.constraint is None else constraint.constraint.arguments
    return [
        isinstance(value, tuple) and all(isinstance(item, str | int) for item in value)
        for name, value in arguments
        if name in KINDS[constraint.kind].required
    ]


def _listed_inequalities(system: ConstraintSystem, rows: Ints, place: Array, violated: Mask) -> Ints:
    """Return the inequalities on two listed features or more, the strictest first.

    One listed feature is enough where an inequality has no more, or is violated.
    """
    A = system.A[rows]
    n_members = np.diff(A.indptr)
    owner = np.repeat(np.arange(len(rows)), n_members)
    n_listed = np.bincount(owner, weights=place[A.indices] >= 0, minlength=len(rows))
    listed = rows[n_listed >= np.where(violated[rows] | (n_members == 1), 1, 2)]
    order = np.lexsort([-system.rho[listed], ~violated[listed]])
    return listed[order][:_MOST_CANDIDATES]


def _link(system: ConstraintSystem, constraint: Part, rows: Ints, place: Array, violated: Mask) -> Link:
    kind, columns = kind_in_words(constraint), np.unique(system.A[rows].indices)
    relation, needed = _relation(system, constraint, rows)
    price = None if constraint.constraint is None else constraint.constraint.price
    members, targets = (tuple(sorted(place[some][place[some] >= 0].tolist())) for some in (columns, needed))
    return Link(
        kind=kind,
        # A number or a block is not seen in the members.
        label=kind if all(_lists_features(constraint)) else system.label(int(rows[0])),
        members=members,
        targets=targets,
        n_members=len(columns),
        rho=float(system.rho[rows].max()),
        violated=bool(violated[rows].any()),
        relation=relation,
        price="" if price is None else f"price {price_text(list(price) if isinstance(price, tuple) else price)}",
    )


def _relation(system: ConstraintSystem, constraint: Part, rows: Ints) -> tuple[str, Ints]:
    """Return how inequalities relate their members, a key of `_STYLES`, and the members that others need."""
    A, b = system.A[rows], system.b[rows]
    limited, asked_for = (np.unique(A.indices[part]) for part in (A.data > 0, A.data < 0))
    needed, none = np.setdiff1d(asked_for, limited), limited[:0]
    single = (np.diff(A.indptr) == 1).all()
    if single and (b < 0).all():
        return "required", none
    if single and (b < A.data).all():
        return "excluded", none
    if constraint.constraint is not None and constraint.constraint.needs_data:
        return "found in the data", none
    if not len(limited):
        return "at least", none
    if not len(asked_for):
        return "at most", none
    return ("if-then", needed) if len(needed) else ("together", none)


def _in_lanes(links: list[Link], n_of_kind: Counter[str], omitted: Counter[str]) -> tuple[Link, ...]:
    """Give each link a lane in which it overlaps nothing; those for which none is left are counted in `omitted`."""
    lanes: list[tuple[str, list[tuple[int, int]]]] = []
    placed: list[Link] = []
    for link in links:
        has_own_lane = n_of_kind[link.kind] <= _OWN_LANES
        low, high = min(link.members), max(link.members)
        free = (
            i
            for i, (kind, spans) in enumerate(lanes)
            if not has_own_lane and kind == link.kind and all(high < a or b < low for a, b in spans)
        )
        lane = next(free, len(lanes))
        if lane == _MOST_LANES:
            omitted[link.kind] += 1
            continue
        if lane == len(lanes):
            lanes.append((link.kind, []))
        lanes[lane][1].append((low, high))
        placed.append(replace(link, lane=lane))
    # Lanes of one kind stand side by side, under one heading.
    kinds = list(dict.fromkeys(kind for kind, _ in lanes))
    order = sorted(range(len(lanes)), key=lambda lane: (kinds.index(lanes[lane][0]), lane))
    return tuple(replace(link, lane=order.index(link.lane)) for link in placed)


def draw_links(ax: Any, links: Links, chosen: tuple[bool, ...], left: float) -> None:
    """Draw links right of the axes: a line per link with a circle per member, full where the member is selected."""
    margin = right_margin(ax)
    for link in links.drawn:
        x = left + LANE * (link.lane + 0.5)
        color, weight = (VERMILION, 2.0) if link.violated else (BLACK, 0.9)
        line, marker, _ = _STYLES.get(link.relation, _STYLES["together"])
        if len(link.members) > 1 and line is not None:
            ax.plot(
                [x, x], [link.members[0], link.members[-1]], color=color, linewidth=weight, transform=margin,
                linestyle=line, clip_on=False, gid=f"link {link.kind}", zorder=3,
            )  # fmt: skip
        for member in link.members:
            ax.plot(
                [x], [member], marker="v" if member in link.targets else marker, markersize=4.5, color=color,
                linestyle="none", transform=margin, markerfacecolor=color if chosen[member] else "white",
                markeredgewidth=0.9, clip_on=False, zorder=4,
            )  # fmt: skip
    for lane, heading, violated in _headings(links):
        draw_heading(ax, left + LANE * (lane + 0.5), heading, VERMILION if violated else BLACK)


def links_width(links: Links) -> float:
    """Return the width in points that lanes and slanted headings need."""
    lanes = (LANE * (lane + 1) + 0.5 * text_width(words) for lane, words, _ in _headings(links))
    last = LANE * (1 + max((link.lane for link in links.drawn), default=-1))
    return max([last, *lanes])


def headings_height(links: Links) -> float:
    """Return the height in inches that the slanted headings need."""
    return max((0.87 * text_width(words) for _, words, _ in _headings(links)), default=0.0) / 72


def _headings(links: Links) -> Iterator[tuple[int, str, bool]]:
    """Yield lane, words and whether this is about a violation; lanes of a kind that share links have one heading."""
    by_kind: dict[str, list[Link]] = {}
    for link in links.drawn:
        by_kind.setdefault(link.kind, []).append(link)
    for kind, members in by_kind.items():
        if len(members) <= _OWN_LANES:
            for link in members:
                hidden = link.n_members - len(link.members)
                strict = link.price or strictness(link.rho)
                words = f"{short(link.label)}, {strict}" + (f", {hidden} not shown" if hidden else "")
                yield link.lane, words + (", violated" if link.violated else ""), link.violated
        else:
            n_violated = sum(link.violated for link in members)
            words = kind + (f", {n_violated} violated" if n_violated else "")
            yield min(link.lane for link in members), words, n_violated > 0
