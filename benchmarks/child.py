"""One measurement in a process of its own: reads a request (JSON) from stdin, writes the outcome (JSON) to stdout.

A request names a maker in :mod:`benchmarks.tools`, which imports what it needs and returns ``work(X, y)``; only that
call is measured. Memory is what it takes at its peak on top of interpreter, libraries and data.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for and return seconds, bytes and the answer, or the error.

    Keys: ``maker``, ``arguments``, ``X`` and ``y`` (paths of .npy files); optional ``warm_up`` (call once with a few
    rows and columns first, so that worker start and late imports do not count), ``memory_map`` and ``cap`` (seconds
    after which the process ends itself).
    """
    from . import tools

    try:
        work = getattr(tools, request["maker"])(**request["arguments"])
        X = np.load(request["X"], mmap_mode="r" if request.get("memory_map") else None)
        y = np.load(request["y"])
        if request.get("warm_up", True):
            work(*_few(X, y))
        before = _forget_peaks()
        # The default action of the alarm ends the process, whatever library code it is in.
        signal.setitimer(signal.ITIMER_REAL, request.get("cap") or 0)
        start = time.perf_counter()
        answer = work(X, y)
        seconds = time.perf_counter() - start
        signal.setitimer(signal.ITIMER_REAL, 0)
        return {"seconds": seconds, "memory": max(memory_in_use("VmHWM") - before, 0.0), "answer": answer}
    except Exception as error:  # a tool that cannot be used is a row of the table, not the end of the benchmark
        return {"error": f"{type(error).__name__}: {error}"}


def _forget_peaks() -> float:
    """Let peaks count from here; return the bytes in use now."""
    with contextlib.suppress(OSError):
        for pid in _family("self"):
            Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory_in_use("VmRSS")


def _few(X: Any, y: Any) -> tuple[Any, Any]:
    rows = np.concatenate([np.flatnonzero(y == label)[:20] for label in np.unique(y)])
    return np.array(X[rows, :30]), y[rows]


def memory_in_use(field: str) -> float:
    """Return resident bytes of this process and its descendants: now (VmRSS) or at their peaks (VmHWM).

    nan where the system has no /proc. VmHWM belongs to the program that runs; the ru_maxrss of getrusage would still
    hold the size of the parent that started it.
    """
    try:
        return float(sum(_field(pid, field) for pid in _family("self")))
    except OSError:
        return float("nan")


def _field(pid: str, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0  # a process that has just ended


def _family(pid: str) -> list[str]:
    family = [pid]
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (thread / "children").read_text().split():
                family.extend(_family(child))
    return family


if __name__ == "__main__":
    # Libraries that print must not mix with the one line that the parent reads.
    with contextlib.redirect_stdout(sys.stderr):
        outcome = run(json.load(sys.stdin))
    print(json.dumps(outcome))
