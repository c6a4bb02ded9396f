"""Constraints among listed features: which to draw, and beside each other or below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._plain import strictness
from ..constraints.system import ConstraintSystem
from ..utility import Admissibility
from .style import BLACK, VERMILION, draw_heading, right_margin, short, text_width

# Kinds whose inequalities mean one thing together: a group of three linked features has six.
_JOINED = {"must-link", "implies", "require", "exclude"}
_SINGLE = {"require", "exclude"}  # each of their inequalities is on one feature
_LINES = {"must-link": "-", "implies": "-.", "cannot-link": "--", "decorrelate": ":", "at-least-one": (0, (6, 1.5))}
_MARKERS = {"require": "^", "exclude": "X"}
# The marks that are no circles, in words.
MARKS = {
    "require": "Triangle: asked for by require.",
    "exclude": "Cross: to be left out by exclude; hollow when it is.",
    "implies": "Triangle upside down: asked for by implies.",
}

_MOST_LANES = 12
_OWN_LANES = 3  # up to so many constraints of a kind are drawn in a lane each
_MOST_CANDIDATES = 500
_MOST_NOTES = 3
LANE = 11.0  # points


@dataclass(frozen=True)
class Link:
    """A constraint between listed features; these are given by position in the list, from 0 on top."""

    kind: str  # such as must-link
    label: str  # its first inequality in words
    members: tuple[int, ...]
    targets: tuple[int, ...]  # those members that an implies asks for
    n_members: int  # listed or not
    rho: float  # the largest of its inequalities
    violated: bool
    lane: int = 0  # column in which it is drawn; what shares a lane does not overlap


@dataclass(frozen=True)
class Links:
    """Constraints as far as they can be drawn beside a list of features; the others in words."""

    drawn: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()  # constraints on everything or on blocks
    omitted: tuple[str, ...] = ()


def find_links(system: ConstraintSystem, chosen: NDArray[np.bool_], shown: NDArray[np.intp]) -> Links:
    """Return the constraints among listed features, which are given by position, from top to bottom."""
    violated = Admissibility(system).violations(chosen)[0] > 0
    place = np.full(system.A.shape[1], -1)
    place[shown] = np.arange(len(shown))
    candidates: list[Link] = []
    notes: list[str] = []
    omitted: Counter[str] = Counter()
    for kind, rows in constraint_groups(system):
        A, joined = system.A[rows], kind in _JOINED
        if (A.indices >= system.n_features).any() or (np.diff(A.indptr) >= system.n_features).any():
            notes += [
                f"{system.label(int(part[0]))} ({'violated' if violated[part].any() else 'holds'})"
                for part in ([rows] if joined else rows[:, np.newaxis])
            ]
            continue
        listed = _listed_inequalities(system, kind, rows, place, violated)
        drawable = [rows][: len(listed)] if joined else list(listed[:, np.newaxis])
        candidates += [_link(system, kind, part, place, violated) for part in drawable]
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
    return Links(drawn, tuple(notes), tuple(f"{n:,} more {kind}" for kind, n in omitted.items() if n))


def constraint_groups(system: ConstraintSystem) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield the kind and the positions of the inequalities of each constraint that has any."""
    for part in system.parts:
        if part.stop > part.start:
            yield part.kind.replace("_", "-"), system.rows_of(part)


def _listed_inequalities(
    system: ConstraintSystem, kind: str, rows: NDArray[np.intp], place: NDArray[Any], violated: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the inequalities on two listed features or more, the strictest first.

    One listed feature is enough where an inequality has no more, or is violated.
    """
    A = system.A[rows]
    owner = np.repeat(np.arange(len(rows)), np.diff(A.indptr))
    n_listed = np.bincount(owner, weights=place[A.indices] >= 0, minlength=len(rows))
    needed = np.where(violated[rows] | (kind in _SINGLE), 1, 2)
    listed = rows[n_listed >= needed]
    order = np.lexsort([-system.rho[listed], ~violated[listed]])
    return listed[order][:_MOST_CANDIDATES]


def _link(
    system: ConstraintSystem, kind: str, rows: NDArray[np.intp], place: NDArray[Any], violated: NDArray[np.bool_]
) -> Link:
    A = system.A[rows]
    columns = np.unique(A.indices)
    then = np.unique(A.indices[A.data < 0]) if kind == "implies" else columns[:0]
    members, targets = (tuple(sorted(place[some][place[some] >= 0].tolist())) for some in (columns, then))
    return Link(
        kind=kind,
        label=system.label(int(rows[0])),
        members=members,
        targets=targets,
        n_members=len(columns),
        rho=float(system.rho[rows].max()),
        violated=bool(violated[rows].any()),
    )


def _in_lanes(links: list[Link], n_of_kind: Counter[str], omitted: Counter[str]) -> tuple[Link, ...]:
    """Give each link a lane in which it overlaps nothing; those for which none is left are counted in `omitted`."""
    lanes: list[tuple[str, list[tuple[int, int]]]] = []
    placed: list[Link] = []
    for link in links:
        own = n_of_kind[link.kind] <= _OWN_LANES
        low, high = min(link.members), max(link.members)
        free = (
            i
            for i, (kind, spans) in enumerate(lanes)
            if not own and kind == link.kind and all(high < a or b < low for a, b in spans)
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
    """Draw links right of the axes: a line per link with a circle per member, full where the member is chosen."""
    margin = right_margin(ax)
    for link in links.drawn:
        x = left + LANE * (link.lane + 0.5)
        color, weight = (VERMILION, 2.0) if link.violated else (BLACK, 0.9)
        if len(link.members) > 1 and link.kind not in _SINGLE:
            ax.plot(
                [x, x], [link.members[0], link.members[-1]], color=color, linewidth=weight, transform=margin,
                linestyle=_LINES.get(link.kind, "-"), clip_on=False, gid=f"link {link.kind}", zorder=3,
            )  # fmt: skip
        for member in link.members:
            marker = _MARKERS.get(link.kind, "v" if member in link.targets else "o")
            ax.plot(
                [x], [member], marker=marker, markersize=4.5, color=color, linestyle="none", transform=margin,
                markerfacecolor=color if chosen[member] else "white", markeredgewidth=0.9, clip_on=False, zorder=4,
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
                # Members alone do not tell other kinds apart: max-per-block 2 has a number and a block.
                heading = kind if kind in _LINES or kind in _MARKERS else short(link.label)
                words = f"{heading}, {strictness(link.rho)}" + (f", {hidden} not shown" if hidden else "")
                yield link.lane, words + (", violated" if link.violated else ""), link.violated
        else:
            n_violated = sum(link.violated for link in members)
            words = f"{len(members)} {kind}" + (f", {n_violated} violated" if n_violated else "")
            yield min(link.lane for link in members), words, n_violated > 0
