"""Parts: one ensemble that several jobs collect apart, and that is put together again as if one job had done it all.

Part k of n does a fixed share of consecutive runs. A run is determined by its index, so that all parts together are,
bit for bit, what one call finds. They can be put together only when each of them is there once, complete, and of the
same data, settings and seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scipy import sparse

from .._arguments import RandomState, check_int
from .._plain import listed
from ..exceptions import Advice, EnsembleError, InputError, repr_of
from .checkpoint import differences, identity
from .evidence import Evidence, check_failures, joined_carriers, joined_sites


def part_runs(part: Any, n_models: int) -> range:
    """Return the runs of a part, given as (number, of how many), of `n_models` runs.

    >>> [part_runs((number, 3), 100) for number in (1, 2, 3)]
    [range(0, 33), range(33, 66), range(66, 100)]
    """
    try:
        number, n_parts = part
    except (TypeError, ValueError):
        rule = f"must be two numbers, such as (3, 20) for the third of 20 parts; got {repr_of(part)}."
        raise InputError.of("part", rule, part) from None
    check_int("part", n_parts, low=1)
    if not 1 <= check_int("part", number) <= n_parts:
        rule = f"must be a number from 1 to the number of parts, {n_parts}; got {number}."
        raise InputError.of("part", rule, part)
    if n_parts > n_models:
        rule = f"of {n_parts} is too small a share: there are {n_models} runs. Use at most so many parts."
        raise InputError.of("part", rule, part)
    return range(n_models * (number - 1) // n_parts, n_models * number // n_parts)


def part_settings(part: Any, n_models: int, random_state: RandomState) -> dict[str, Any]:
    """Return what the settings of a part say of it: they are those of the whole but for the number of runs."""
    if random_state is None:
        raise InputError.of("random_state", "must be given with part, and be the same in all of them; it is None.")
    runs = part_runs(part, n_models)
    number, n_parts = (int(value) for value in part)
    return {"n_models": len(runs), "part": {"number": number, "of": n_parts, "n_models": n_models}}


def runs_of(settings: Mapping[str, Any]) -> tuple[range, int]:
    """Return the runs that settings ask for, and the number of runs of the whole ensemble."""
    part = settings.get("part")
    if part is None:
        return range(settings["n_models"]), settings["n_models"]
    return part_runs((part["number"], part["of"]), part["n_models"]), part["n_models"]


def join_parts(parts: Mapping[str, Evidence]) -> Evidence:
    """Put the parts of one ensemble together, as :meth:`Evidence.join` describes it."""
    if not isinstance(parts, Mapping) or not all(isinstance(part, Evidence) for part in parts.values()):
        raise InputError.of("parts", f"must map names to Evidence; got {repr_of(parts)}.", parts)
    if not parts:
        raise InputError.of("parts", "is empty; name at least one part.")
    for name, evidence in parts.items():
        if "part" not in evidence.settings:
            raise EnsembleError(f"{name} is not a part of an ensemble, but evidence that needs no merging.")
    _check_same_ensemble(parts)
    in_order = sorted(parts, key=lambda name: parts[name].settings["part"]["number"])
    _check_complete(parts, in_order)
    _warn_of_versions(parts)
    return _joined([parts[name] for name in in_order])


def _check_same_ensemble(parts: Mapping[str, Evidence]) -> None:
    """Refuse parts of another ensemble than most are of, naming what differs."""
    keys = {name: _ensemble(evidence.settings) for name, evidence in parts.items()}
    usual = Counter(keys.values()).most_common(1)[0][0]
    model = next(name for name, key in keys.items() if key == usual)
    foreign = []
    for name, key in keys.items():
        if key != usual:
            before, now = _whole(parts[model].settings), _whole(parts[name].settings)
            foreign.append(f"{name} differs from {model} in {', '.join(differences(before, now))}")
    if foreign:
        raise EnsembleError(
            f"cannot merge parts of different ensembles: {listed(foreign, separator='; ')}. Leave these out, and "
            "collect the parts that are missing then with the same data, settings and seed as the others."
        )


def _ensemble(settings: Mapping[str, Any]) -> tuple[str, int, int]:
    return identity(settings), settings["part"]["of"], settings["part"]["n_models"]


def _whole(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the ensemble that a part is of, and the number of its parts."""
    part = settings["part"]
    shared = {name: value for name, value in settings.items() if name not in ("part", "versions")}
    return {**shared, "n_models": part["n_models"], "number of parts": part["of"]}


def _check_complete(parts: Mapping[str, Evidence], in_order: list[str]) -> None:
    """Refuse parts that are there twice, not at all, or without all of their runs."""
    names: dict[int, list[str]] = {}
    for name in in_order:
        names.setdefault(parts[name].settings["part"]["number"], []).append(name)
    repeated = [f"part {number} is in {' and in '.join(same)}" for number, same in names.items() if len(same) > 1]
    if repeated:
        raise EnsembleError(f"cannot merge: {listed(repeated, separator='; ')}. Name each part once.")
    n_parts = parts[in_order[0]].settings["part"]["of"]
    missing = [str(number) for number in range(1, n_parts + 1) if number not in names]
    if missing:
        raise EnsembleError(
            f"cannot merge: {len(missing)} of {n_parts} parts {'is' if len(missing) == 1 else 'are'} missing, number "
            f"{listed(missing)}. Collect what is missing, with --part {missing[0]}/{n_parts} and so on, and merge "
            "all parts then."
        )
    for name in in_order:
        n_done, n_asked = len(parts[name].runs) + len(parts[name].failures), parts[name].settings["n_models"]
        if n_done != n_asked:
            raise EnsembleError(
                f"cannot merge: {name} was cancelled after {n_done} of {n_asked} runs. Collect this part again."
            )


def _warn_of_versions(parts: Mapping[str, Evidence]) -> None:
    versions = {name: evidence.settings.get("versions", {}) for name, evidence in parts.items()}
    first = next(iter(versions))
    others = [name for name, packages in versions.items() if packages != versions[first]]
    if others:
        theirs, ours = (str(versions[name]) for name in (others[0], first))
        facts = {"others": others, "theirs": theirs, "first": first, "versions": ours}
        Advice("parts_of_versions", facts).warn()


def _joined(parts: list[Evidence]) -> Evidence:
    """Return the evidence of parts in their order."""
    first = parts[0]
    sets = sparse.csr_array(sparse.vstack([part.sets for part in parts], format="csr"))
    failures = tuple(failure for part in parts for failure in part.failures)
    check_failures(failures, sets.shape[0] + len(failures))
    whole = {**first.settings, "n_models": first.settings["part"]["n_models"]}
    del whole["part"]
    return Evidence(
        sets,
        first.feature_names,
        first.constant,
        tuple(run for part in parts for run in part.runs),
        failures,
        whole,
        carriers=joined_carriers([(part.carriers, part.sets.nnz) for part in parts]),
        site=joined_sites(parts),
    )
