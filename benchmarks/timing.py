"""How time, memory and growth are measured.

Times that are compared are taken in turns (A B A B ...), so that whatever else the machine does slows both. Peak memory
comes from a fresh process per measurement.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).parents[1]


def seconds(work: Callable[[], Any]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Comparison:
    """Medians over rounds; `ratio` is the median of the ratios within each round, not the ratio of the medians."""

    seconds: float
    reference: float
    ratio: float
    rounds: int


def compare(
    work: Callable[[], Any],
    reference: Callable[[], Any],
    rounds: tuple[int, int] = (3, 9),
    patience: float = 10.0,
    clock: Callable[[Callable[[], Any]], float] = seconds,
) -> Comparison:
    """Time two things in turns; both should have been called before, on something small if they take long.

    Parameters
    ----------
    rounds : (fewest, most)
    patience : float
        Once the fewest rounds are done, no further one begins after this many seconds of measured work.
    """
    ours: list[float] = []
    theirs: list[float] = []
    fewest, most = rounds
    while len(ours) < fewest or (len(ours) < most and sum(ours) + sum(theirs) < patience):
        theirs.append(clock(reference))
        ours.append(clock(work))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return Comparison(statistics.median(ours), statistics.median(theirs), statistics.median(ratios), len(ours))


def median_seconds(work: Callable[[], Any], rounds: int) -> float:
    """Return the median time of a few calls, after an untimed one."""
    work()
    return statistics.median(seconds(work) for _ in range(rounds))


def exponent(sizes: Iterable[float], values: Iterable[float]) -> float:
    """Return p of the power law values ~ sizes ** p that fits best on logarithmic scales; nan without two values."""
    x, y = np.asarray(list(sizes), dtype=float), np.asarray(list(values), dtype=float)
    known = np.isfinite(y) & (y > 0)
    if len(np.unique(x[known])) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x[known]), np.log(y[known]), 1)[0])


@dataclass(frozen=True)
class Outcome:
    """What a fresh process reports: seconds, bytes on top of data and imports, the answer; or the error."""

    seconds: float = float("nan")
    memory: float = float("nan")
    answer: Any = None
    error: str = ""
    timed_out: bool = False


def in_fresh_process(request: dict[str, Any], cap: float | None = None) -> Outcome:
    """Run a request (see :mod:`benchmarks.child`) in a process of its own.

    `cap` is the time in seconds that the measured call may take; imports and warming up come before it.
    """
    # Files rather than pipes: workers that a library leaves behind would keep a pipe open.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            process.communicate(json.dumps({**request, "cap": cap}))
        finally:
            # The process, if the caller was interrupted, and all that it started: they are one session of their own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        errors.seek(0)
        answer, complaints = output.read().strip(), errors.read().strip()
    if process.returncode == -signal.SIGALRM:
        return Outcome(timed_out=True)
    if process.returncode or not answer:
        reason = complaints.splitlines()[-1] if complaints else "no message"
        return Outcome(error=f"process ended with code {process.returncode}: {reason}")
    return Outcome(**json.loads(answer.splitlines()[-1]))
