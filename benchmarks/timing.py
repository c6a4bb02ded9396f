"""How time, memory and growth are measured.

Times that are compared are taken in turns (A B A B ...), so that whatever else the machine does slows both. Peak memory
comes from a fresh process per measurement.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
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
    """Time two things in turns, after one untimed call of each.

    Parameters
    ----------
    rounds : (fewest, most)
    patience : float
        Once the fewest rounds are done, no further one begins after this many seconds of measured work.
    """
    work()
    reference()
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


def in_fresh_process(request: dict[str, Any], timeout: float | None = None) -> Outcome:
    """Run a request (see :mod:`benchmarks.child`) in a process of its own.

    `timeout` counts from the start of the process; when it is over, the process and all that it started are ended.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.child"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(json.dumps(request), timeout=timeout)
    except BaseException as problem:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(problem, subprocess.TimeoutExpired):
            return Outcome(timed_out=True)
        raise
    if process.returncode or not output.strip():
        reason = errors.strip().splitlines()[-1] if errors.strip() else "no message"
        return Outcome(error=f"process ended with code {process.returncode}: {reason}")
    return Outcome(**json.loads(output.strip().splitlines()[-1]))
