"""What commands have in common: checking the output directory, writing a result, telling the answer."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .console import notes, progress, say, stoppable, table, tell

if TYPE_CHECKING:
    from ..data.feature_data import FeatureData
    from ..ensemble.evidence import Evidence
    from ..selection import Selection
    from ..study import Study

_RUNS = "unfinished-runs-"
_SHOWN = 50  # chosen features that are printed; the files have all


def check_output(directory: Path, study: Study, force: bool, source: Path | None = None) -> None:
    """Refuse before any work what could not be written after it, and what would destroy a file that was read."""
    from ..results import check_directory

    check_directory(directory, study, force=force, source=source)


def runs_directory(directory: Path, study: Study, data: FeatureData) -> Path:
    """Return where finished runs of exactly this ensemble are kept, so that another study never meets them."""
    ensemble = {
        key: value for key, value in study.to_dict().get("evidence", {}).items() if key not in ("n_models", "n_jobs")
    }
    told = json.dumps([ensemble, data.fingerprint], sort_keys=True, default=str)
    return directory / f"{_RUNS}{hashlib.sha256(told.encode()).hexdigest()[:12]}"


def forget_runs(runs: Path) -> None:
    """Remove the runs that were kept in case of an interruption; the evidence holds them all now."""
    shutil.rmtree(runs, ignore_errors=True)


def written_to(study: Study, directory: Path) -> Study:
    """Return the study with the directory that its result goes to, whoever said so."""
    relative = os.path.relpath(directory, study.folder)
    return replace(study, outputs=replace(study.outputs, directory=Path(relative).as_posix()))


def with_seeds(study: Study, evidence: Evidence) -> Study:
    """Return the study with the seeds that were drawn, if it left the choice: the study as used repeats the result."""
    ensemble, decision = study.evidence, study.decision
    if ensemble.seed is None:
        ensemble = replace(ensemble, seed=evidence.settings["seed"]["entropy"])
    if decision.seed is None:
        decision = replace(decision, seed=secrets.randbits(63))
    return replace(study, evidence=ensemble, decision=decision)


def finish(
    study: Study,
    evidence: Evidence,
    selection: Selection,
    data: FeatureData | None,
    warnings: list[str],
    directory: Path | None,
    *,
    force: bool,
) -> None:
    """Summarize, write the result if there is a directory, and tell the answer."""
    from ..results import Result, write_result
    from ..summary import summarize

    # What tables of knowledge say is part of the result, which may be moved or sent without them.
    study = study.inlined(evidence.feature_names)
    with progress("selection probabilities", "draws") as update, stoppable(update) as update_or_stop:
        summary = summarize(
            selection,
            data,
            asked=study.to_dict(),
            blocks=study.arguments(evidence.feature_names)["blocks"],
            # Without files, the answer itself is all that is wanted.
            n_draws=study.outputs.n_draws if directory is not None else 0,
            on_progress=update_or_stop,
            random_state=study.decision.seed,
            warnings=warnings,
        )
    if directory is None:
        answer(summary)
        tell("Nothing was written; add -o DIRECTORY to keep this result.")
        return
    # Before anything is printed: whoever reads the output may have left.
    with notes():
        written = write_result(directory, Result(study, evidence, selection, summary), data=data, force=force)
    answer(summary)
    report = next((path for path in written if path.name == "report.html"), directory)
    say(f"\nWrote {len(written)} files to {directory}; open {report}")


def answer(summary: dict[str, Any]) -> None:
    """Print the chosen features, what became of the constraints, and how good the answer is."""
    chosen = summary["chosen"]
    say(f"{summary['headline']}" + "\n" * bool(chosen))
    if chosen:
        say(table([_row(one) for one in chosen[:_SHOWN]]))
    if len(chosen) > _SHOWN:
        say(f"... and {len(chosen) - _SHOWN} more")
    broken = [one for one in summary["constraints"] if one["holds"] is False]
    if broken:
        say("\nGiven up (soft constraints)")
        for one in broken:
            say(f"  {one['label']}: by {one['violation']:g}, admissibility {one['admissibility']:.3g}")
    bound = "no bound known" if summary["bound"] is None else f"bound {summary['bound']:.6g}, gap {summary['gap']:.2g}"
    say(f"\nValue {summary['value']:.6g}, {bound}.")


def _row(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "feature": one["feature"],
        "votes": one["count"],
        "weight": one["weight"],
        "importance": one["importance"],
        "because of": " and ".join(one["reasons"]),
    }
