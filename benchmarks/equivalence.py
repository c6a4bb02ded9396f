"""Record the results of many problems, and compare those of today with a record, bit by bit.

``python -m benchmarks.equivalence record -o FILE`` and ``python -m benchmarks.equivalence compare FILE``. The problems
are those of recorded_ensembles.py and recorded_decisions.py, which use public names only. Numbers are kept as
hexadecimal floats and arrays as SHA-256 of their bytes, so that the last bit counts.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import platform
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import ubayfs
from ubayfs.decision.selection import Selection

from . import recorded_decisions, recorded_ensembles

PACKAGES = ("numpy", "scipy", "scikit-learn")
SETTINGS = ("n_models", "train_size", "n_features_per_model", "task", "n_samples", "n_features", "grouped", "seed")
NUMBERS = ("utility", "importance", "admissibility", "log_admissibility", "redundancy")
MOST_SHOWN = 20


def record() -> dict[str, Any]:
    """Solve all problems, on one thread of BLAS, so that sums are always added in the same order."""
    versions = {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}}
    with threadpool_limits(limits=1):
        found = {
            "ensembles": {name: outcome(problem) for name, problem in recorded_ensembles.ensembles().items()},
            "decisions": {name: outcome(problem) for name, problem in recorded_decisions.decisions().items()},
        }
    # As it will be read: lists instead of tuples.
    return json.loads(json.dumps({"versions": versions, **found}))


def outcome(problem: recorded_decisions.Problem) -> dict[str, Any]:
    """Solve one problem; return what is recorded of its result, its warnings and its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fields = _fields(problem())
        except Exception as error:
            fields = {"error": type(error).__name__, "labels": list(getattr(error, "labels", ()))}
    categories = sorted({one.category.__name__ for one in caught})
    return {**fields, "warnings": categories} if categories else fields


def _fields(result: Any) -> dict[str, Any]:
    if isinstance(result, ubayfs.Evidence):
        return _of_evidence(result)
    if isinstance(result, Selection):
        return _of_selection(result)
    if isinstance(result, Mapping):
        return {name: _of_array(array) for name, array in result.items()}
    return _of_array(result)


def _of_evidence(evidence: ubayfs.Evidence) -> dict[str, Any]:
    sets = evidence.sets
    return {
        "counts": _sha256(evidence.counts.astype(np.int64)),
        "sets": _sha256(sets.indptr.astype(np.int64), sets.indices.astype(np.int64)),
        "constant": np.flatnonzero(evidence.constant).tolist(),
        "names": hashlib.sha256("\n".join(evidence.feature_names).encode()).hexdigest(),
        "failures": len(evidence.failures),
        "stability": _hex(ubayfs.metrics.stability(sets).value),
        "data": evidence.settings["data_fingerprint"],
        **{name: evidence.settings[name] for name in SETTINGS},
    }


def _of_selection(selection: Selection) -> dict[str, Any]:
    posterior = selection.posterior
    diagnostics = None if posterior is None else posterior.diagnostics
    # A set that nobody asked for breaks other rows than the best one does.
    other = selection.evaluate(range(0, min(60, len(selection.feature_names)), 3))
    return {
        **_of_set(selection.best),
        "alternatives": [_of_set(one) for one in selection.alternatives],
        "importances": _sha256(selection.importance),
        "weights": None if selection.weights is None else _sha256(selection.weights),
        "r_hat": None if diagnostics is None else _hex(diagnostics.r_hat),
        "other set": {**_of_metrics(other), "violations": len(other.violations)},
    }


def _of_set(found: Any) -> dict[str, Any]:
    """Return the fields of the best set or of an alternative."""
    values = {"value": _hex(found.value), "bound": _hex(found.bound), "complete": bool(found.complete)}
    violations = [[_hex(row.amount), _hex(row.rho), _hex(row.admissibility)] for row in found.metrics.violations]
    return {"indices": found.indices.tolist(), **values, **_of_metrics(found.metrics), "violations": violations}


def _of_metrics(metrics: Any) -> dict[str, Any]:
    return {**{name: _hex(getattr(metrics, name)) for name in NUMBERS}, "without_votes": len(metrics.without_votes)}


def _of_array(array: Any) -> dict[str, Any]:
    array = np.asarray(array, dtype=np.float64)
    return {"shape": list(array.shape), "first": _hex(array.flat[0]), "sum": _hex(array.sum()), "all": _sha256(array)}


def _hex(value: Any) -> str:
    return float(value).hex()


def _sha256(*arrays: Any) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def save(found: Mapping[str, Any], path: Path) -> None:
    """Write a record; the same one gives the same bytes."""
    content = json.dumps(found, separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


def read(path: Path) -> dict[str, Any]:
    """Return what :func:`save` wrote."""
    return json.loads(gzip.decompress(path.read_bytes()))


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Print how two records differ; return whether they are equal.

    Of the labels of contradicting constraints only the number is compared: a label is text for people, and wording may
    change ("exact-size 4 (at most)" instead of "max-size 4") where the constraints that are named do not.
    """
    before, now = _without_wording(before), _without_wording(now)
    for package, recorded_version in before["versions"].items():
        if (here := now["versions"].get(package)) != recorded_version:
            print(f"{package} is {here} here and was {recorded_version}: the last bits may differ for that alone.")
    different: list[str] = []
    for kind in ("ensembles", "decisions"):
        names = [*before[kind], *(name for name in now[kind] if name not in before[kind])]
        unequal = [name for name in names if before[kind].get(name) != now[kind].get(name)]
        print(f"{kind}: {len(names) - len(unequal)} equal, {len(unequal)} different")
        for name in unequal:
            where = f"{kind.removesuffix('s')} '{name}'"
            different += [f"{where}, {line}" for line in differences(before[kind].get(name), now[kind].get(name))]
    for line in different[:MOST_SHOWN]:
        print(f"  {line}")
    if len(different) > MOST_SHOWN:
        print(f"  and {len(different) - MOST_SHOWN} more fields that differ")
    return not different


def _without_wording(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the number of labels in place of the labels."""
    kinds = {
        kind: {
            name: {**fields, "labels": len(fields["labels"])} if "labels" in fields else fields
            for name, fields in found[kind].items()
        }
        for kind in ("ensembles", "decisions")
    }
    return {**found, **kinds}


def differences(before: Any, now: Any, field: str = "") -> Iterator[str]:
    """Yield a line for each field that differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in {**before, **now}:
            yield from differences(before.get(name), now.get(name), f"{field} {name}".strip())
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now) and field != "indices":
        for position, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{field} [{position}]")
    elif before != now:
        yield f"{field or 'as a whole'}: was {_shown(before)}, is {_shown(now)}"


def _shown(value: Any) -> str:
    if isinstance(value, str) and value.lstrip("-").startswith("0x"):
        return f"{float.fromhex(value)!r} ({value})"
    text = "absent" if value is None else json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 80 else f"{text[:80]}..."


def main(arguments: list[str] | None = None) -> int:
    """Record or compare; return 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equivalence", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="solve all problems and write what was found")
    recording.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    commands.add_parser("compare", help="solve all problems and compare").add_argument("file", type=Path)
    asked = parser.parse_args(arguments)
    before = read(asked.file) if asked.command == "compare" else None
    start = time.perf_counter()
    now = record()
    n_ensembles, n_decisions = len(now["ensembles"]), len(now["decisions"])
    print(f"{n_ensembles} ensembles and {n_decisions} decisions in {time.perf_counter() - start:.0f} s")
    if before is None:
        save(now, asked.output)
        return 0
    return 0 if compare(before, now) else 1


if __name__ == "__main__":
    sys.exit(main())
