"""Measure, show and save: ``python -m benchmarks [--quick] [--only evidence decision] [--million] [--page]``."""

from __future__ import annotations

import argparse
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import ubayfs

from . import app, covariates, decision, evidence, faces, hard, report, results, scaling, survival, trust, validation
from .timing import REPOSITORY

RESULTS = Path(__file__).parent / "results"
PARTS: dict[str, Callable[..., report.Section]] = {
    "evidence": evidence.ensembles,
    "lasso": evidence.lassos,
    "survival": survival.filters,
    "tools": evidence.against_tools,
    "covariates": covariates.covariates,
    "decision": decision.decisions,
    "again": decision.second_thoughts,
    "growth": scaling.growth,
    "many": scaling.many_features,
    "samples": scaling.many_samples,
    "import": scaling.imports,
    "faces": faces.faces,
    "trust": trust.trust,
    "validation": validation.validation,
}
# Only where asked for, since they take hours or need Chromium; saved under their own names.
LONG_PARTS: dict[str, Callable[..., report.Section]] = {"hard": hard.hard, "app": app.app}


def main(arguments: list[str] | None = None) -> int:
    """Run the parts asked for; return 1 when one of them broke."""
    asked = _parser().parse_args(arguments)
    if asked.page:
        results.write_page(REPOSITORY / "docs" / "large_data.md", RESULTS / "latest.json")
        return 0
    whole = asked.only == list(PARTS)
    name = ("quick" if asked.quick else "latest") if whole else "partial"
    if not asked.quick and len(asked.only) == 1 and asked.only[0] in LONG_PARTS:
        name = asked.only[0]
    about = results.environment(_command(asked.quick, asked.million, [] if whole else asked.only))
    print(report.preamble(about) + "\n", flush=True)
    start, sections, broken = time.perf_counter(), [], False
    for part in asked.only:
        measure = {**PARTS, **LONG_PARTS}[part]
        work = partial(measure, million=asked.million) if part == "many" else measure
        try:
            sections.append(_measured(work, asked.quick))
        except Exception as error:  # the other parts took minutes: they are shown and kept
            broken = True
            traceback.print_exc()
            row = report.Row(part, "broke off", note=f"{type(error).__name__}: {error}")
            sections.append(report.Section(part, "This part could not be measured.", [row]))
        spent = time.perf_counter() - start
        print(f"{sections[-1].markdown()}\n[{spent:.0f} s so far]\n", flush=True)
        about["minutes"] = round(spent / 60, 1)
        results.save(about, sections, RESULTS, name)
    print(f"{about['minutes']} minutes; saved as benchmarks/results/{name}.json and {name}.md")
    return int(broken)


def _measured(work: Callable[[bool], report.Section], quick: bool) -> report.Section:
    with warnings.catch_warnings():
        # What these tell is in the table: gaps, R-hat. A million features are not feature names of a frame.
        warnings.simplefilter("ignore", ubayfs.exceptions.UBayFSWarning)
        return work(quick)


def _command(quick: bool, million: bool, only: list[str]) -> str:
    chosen = f" ONLY='{' '.join(only)}'" if only else ""
    return "make bench" + " QUICK=1" * quick + " MILLION=1" * million + chosen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure ubayfs beside other tools.")
    parser.add_argument("--quick", action="store_true", help="small problems, under a minute; saved as quick.*")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *LONG_PARTS], default=list(PARTS),
                        help="some parts; saved as partial.*")  # fmt: skip
    parser.add_argument("--million", action="store_true", help="also 200 x 1,000,000 (minutes, 0.8 GB of disk)")
    parser.add_argument("--page", action="store_true", help="put the last full results into docs/large_data.md, stop")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
