"""Knowledge tied to the features of a data set: which rows are about which features, and which names mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from .._arguments import check_choice, feature_hint
from ..data.blocks import Blocks
from ..exceptions import Advice, InputError
from .damaged_names import symbols_before_damage
from .matching import Match, NameMatcher
from .rows import HEADINGS, Knowledge, Report, Row, read_aliases, read_rows
from .scale import Stated, as_stated

# Unknown names that are reported one by one; a table of another data set has nothing but such names.
_MOST_ROWS = 20
_SHOWN = 3


class Matched(NamedTuple):
    """Rows whose features are those of the data, and what must be known about the others."""

    rows: list[Row]  # those about blocks, too
    advice: tuple[Advice, ...] = ()


def read_knowledge(
    source: Any,
    *,
    weight: Stated | None = None,
    sheet: str | None = None,
    only: Iterable[str] = (),
    aliases: Any = None,
    unknown: str = "skip",
) -> Knowledge:
    """Read what is known about features from what experts have.

    Parameters
    ----------
    source : path, str, iterable of str or DataFrame
        - a table (CSV, TSV, Excel, Parquet, DataFrame) with the column feature and some of weight, block, cost, why and
          source; gene, symbol, importance, pathway, price, reason, reference and the like mean the same;
        - a GMT file, or a CSV of gene sets as cellxgene has it: each gene set is a block;
        - a list of names: a text file, a pasted text (names on lines, or separated by commas, semicolons or blanks), or
          a list.
    weight : number of votes or word of the scale, optional
        Of every feature that has none of its own: a list of names has no weights.
    sheet : str, optional
        Of an Excel file.
    only : iterable of str, optional
        Names or patterns of the gene sets that are wanted.
    aliases : path, mapping of alias to name, or DataFrame, optional
        Other names of features: columns name and alias, or symbol, prev_symbol and alias_symbol.
    unknown : {"skip", "error"}, default "skip"
        What to do with names that are not in the data.

    Returns
    -------
    knowledge : Knowledge
        ``decide(evidence, weights=knowledge)`` uses it.

    Examples
    --------
    >>> read_knowledge("TP53, BRCA1", weight="likely").rows[1]
    Row(place='the list, line 1', feature='BRCA1', weight='likely', block=None, cost=None, why=None, source=None)
    """
    check_choice("unknown", unknown, ("skip", "error"))
    problems: list[str] = []
    found = read_rows(source, problems.append, sheet=sheet, only=only)
    known = read_aliases(aliases, problems.append)
    raise_problems(problems)
    assert found is not None
    rows, columns = found.rows, found.columns
    if weight is not None:
        stated = as_stated(weight)
        rows = tuple(
            row if row.weight is not None or row.feature is None else row._replace(weight=stated) for row in rows
        )
        columns = tuple(dict.fromkeys((*columns, "weight")))
    return replace(found, rows=rows, columns=columns, aliases=known, unknown=unknown)


def raise_problems(problems: list[str], limit: int = 10) -> None:
    """Raise one error that lists all problems, if there are any."""
    if len(problems) > 1:
        more = f"\n- and {len(problems) - limit} more" if len(problems) > limit else ""
        raise InputError(f"there are {len(problems)} problems:\n- " + "\n- ".join(problems[:limit]) + more)
    if problems:
        raise InputError(problems[0])


def match_rows(knowledge: Knowledge, features: Iterable[str], report: Report) -> Matched:
    """Tie rows to features; rows about blocks stay as they are.

    Names that are not in the data are left out, with advice, or reported if ``knowledge.unknown`` is "error". If no
    name at all is in the data, that is reported: another organism, or another kind of names.
    """
    matcher = NameMatcher(features, knowledge.aliases)
    rows: list[Row] = []
    matches: dict[str, Match] = {}
    first: dict[str, Row] = {}
    for row in knowledge.rows:
        if row.feature is None:
            rows.append(row)
            continue
        for match in find_names(matcher, row.feature, several=is_list(knowledge)):
            matches.setdefault(match.name, match)
            first.setdefault(match.name, row)
            if match.feature is not None:
                rows.append(row._replace(feature=match.feature))
    unknown = [match for match in matches.values() if match.feature is None]
    if matches and len(unknown) == len(matches):
        report(_nothing_matches(knowledge, unknown, matcher))
    elif knowledge.unknown == "error":
        for match in unknown[:_MOST_ROWS]:
            report(f"{first[match.name].place}: {_unknown(match, matcher)}")
        if len(unknown) > _MOST_ROWS:
            report(f"and {len(unknown) - _MOST_ROWS} more names of {knowledge.name} that are not in the data.")
    else:
        return Matched(rows, (*_unused(knowledge), *_advice(knowledge.name, matches, unknown, matcher)))
    return Matched(rows, _unused(knowledge))


def gene_set_blocks(source: Any, feature_names: Any, only: Iterable[str] = (), aliases: Any = None) -> Blocks:
    """Return gene sets as blocks; see :meth:`~ubayfs.Blocks.from_gene_sets`."""
    known = source if isinstance(source, Knowledge) else read_knowledge(source, only=only, aliases=aliases)
    known.require("feature", "block")
    problems: list[str] = []
    blocks = blocks_of(known, [str(name) for name in feature_names], problems.append)
    raise_problems(problems)
    return blocks


def blocks_of(knowledge: Knowledge, features: Iterable[str], report: Report, are_gene_sets: bool = True) -> Blocks:
    """Return the blocks that rows put features into; those without a feature of the data are left out."""
    matched = match_rows(knowledge, features, report)
    members: dict[str, dict[str, None]] = {}
    for row in matched.rows:
        if row.block is not None and row.feature is not None:
            members.setdefault(row.block, {})[row.feature] = None
    wanted = dict.fromkeys(row.block for row in knowledge.rows if row.block is not None)
    empty = [name for name in wanted if name not in members]
    facts = {"source": knowledge.name, "n": len(empty), "n_sets": len(wanted), "names": empty}
    advice = (*matched.advice, *([Advice("gene_sets_empty", facts)] if empty and members else []))
    return Blocks({name: tuple(found) for name, found in members.items()}, are_gene_sets, advice)


def _unused(knowledge: Knowledge) -> tuple[Advice, ...]:
    """Return the advice on columns of a table that are not read."""
    facts = {"source": knowledge.name, "columns": list(knowledge.unused), "known": list(HEADINGS)}
    return (Advice("knowledge_unused", facts),) if knowledge.unused else ()


def is_list(knowledge: Knowledge) -> bool:
    """Tell whether a source is a list of names, not a table."""
    return knowledge.columns == ("feature",) or not knowledge.header


def find_names(matcher: NameMatcher, name: str, several: bool) -> list[Match]:
    """Return what a name means; an entry of a list that means nothing may be several names, separated by blanks."""
    match = matcher.find(name)
    if match.feature is None and several and not match.candidates and len(name.split()) > 1:
        return [matcher.find(part) for part in name.split()]
    return [match]


def _nothing_matches(knowledge: Knowledge, unknown: list[Match], matcher: NameMatcher) -> str:
    explained = [match for match in unknown if match.candidates or symbols_before_damage(match.name, serials=True)]
    if len(explained) == len(unknown):
        return f"{knowledge.name}: " + " ".join(_unknown(match, matcher) for match in explained[:_SHOWN])
    names = [match.name for match in unknown]
    shown, features = (", ".join(map(repr, some[:_SHOWN])) for some in (names, matcher.features))
    folded = {feature.casefold(): feature for feature in matcher.features}
    same = next(((name, folded[name.casefold()]) for name in names if name.casefold() in folded), None)
    hint = f" They differ in upper and lower case: {same[0]!r} and {same[1]!r}." if same else ""
    hint = hint or (feature_hint(names[0], matcher.features) if len(names) == 1 else "")
    return (
        f"{knowledge.name}: none of its {len(names)} names is a feature of the data. They are {shown}; the features "
        f"are {features}.{hint} Is it of another organism, or are the names of another kind? A table of aliases helps."
    )


def _unknown(match: Match, matcher: NameMatcher) -> str:
    if match.candidates:
        return f"{match.name!r} means several features: {', '.join(map(repr, match.candidates))}. Name the one meant."
    symbols = symbols_before_damage(match.name, serials=True)
    if symbols:
        was = " or ".join(symbols)
        return f"{match.name!r} is not a feature, but a date that a spreadsheet made of a name, perhaps {was}."
    return f"{match.name!r} is not a feature.{feature_hint(match.name, matcher.features)}"


def _advice(source: str, matches: dict[str, Match], unknown: list[Match], matcher: NameMatcher) -> Iterable[Advice]:
    """Yield advice on names that were found by another name, and on those that were not found."""
    damaged = {match.name: symbols_before_damage(match.name, serials=True) for match in unknown}
    folded = {feature.casefold(): feature for feature in matcher.features}
    kinds: dict[str, Callable[[Match], str | None]] = {
        "names_translated": lambda m: None if m.feature in (None, m.name.strip()) else f"{m.name}: {m.feature}",
        "names_ambiguous": lambda m: f"{m.name}: {' or '.join(m.candidates)}" if m.candidates else None,
        "names_damaged": lambda m: f"{m.name}: {' or '.join(damaged[m.name])}" if damaged.get(m.name) else None,
        "names_in_other_case": lambda m: (
            f"{m.name}: {folded[m.name.casefold()]}" if m.feature is None and m.name.casefold() in folded else None
        ),
    }
    if unknown:
        names = [match.name for match in unknown]
        yield Advice("names_skipped", {"source": source, "n": len(names), "n_names": len(matches), "names": names})
    for code, text in kinds.items():
        listed = [found for match in matches.values() if (found := text(match)) is not None]
        if listed:
            yield Advice(code, {"source": source, "n": len(listed), "names": listed})
