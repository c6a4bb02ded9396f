"""HiGHS, the solver of mixed-integer linear programs, through :func:`scipy.optimize.milp`."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._arguments import Floats, Mask
from .base import Limit

# HiGHS stops at an absolute gap of 1e-6 and accepts rows violated by 1e-6. Scores and logarithms of admissibility are
# passed to it multiplied by this, so that its tolerances are 1e-10 in the score.
SCALE = 1e4

# What the solver may say: optimal, time limit reached, infeasible. Anything else ("unbounded", as no program is) comes
# from numbers of very different size, unless all nodes are spent; its presolve then helps.
_ANSWERS = (0, 1, 2)

# How lines of the solver on standard output begin.
_PREFIX = b"Highs"


class Answer(NamedTuple):
    """The solver's answer to a program: a set (or None), an upper bound, whether the cell is empty."""

    chosen: Mask | None
    bound: float
    infeasible: bool


class Program(NamedTuple):
    """Maximize objective x + constant over low <= A x <= high and lower <= x <= upper; the first n x are 0 or 1."""

    objective: Floats  # SCALE times the score
    A: sparse.csc_array
    low: Floats
    high: Floats
    lower: Floats
    upper: Floats
    n_features: int
    constant: float

    def solve(self, limit: Limit | None = None) -> Answer:
        """Return the best set, or the best found within the limit."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        limit, n = limit or Limit(), self.n_features
        integrality, bounds = np.arange(len(self.objective)) < n, Bounds(self.lower, self.upper)
        rows = LinearConstraint(self.A, self.low, self.high) if self.A.shape[0] else ()
        solver = partial(milp, -self.objective, integrality=integrality, bounds=bounds, constraints=rows)
        # The solver's own presolve is off: it takes minutes on a cost row over thousands of features or on 10^5 pairs,
        # ignores the time limit meanwhile, and did not pay on any problem of this form.
        with solver_output_held_back, limit.solver_options() as options:
            result = solver(options={"mip_rel_gap": 0.0, "presolve": False, **options})
            n_nodes = int(result.get("mip_node_count") or 0)
            if result.status not in _ANSWERS and n_nodes < options.get("node_limit", np.inf):
                result = solver(options={"mip_rel_gap": 0.0, "presolve": True, **options})
        limit.spend(n_nodes)
        # Without features there is nothing to branch on: the solver then gives no dual bound, but the optimum.
        dual = result.fun if n == 0 else result.mip_dual_bound
        bound = -dual / SCALE + self.constant if dual is not None and np.isfinite(dual) else np.inf
        chosen = None if result.x is None else result.x[:n] > 0.5
        return Answer(chosen, bound, result.status == 2)


# -- the solver's own lines on standard output never reach it ----------------------------------------------------------


class _SolverOutput:
    """Holds back the output of C code while at least one thread is inside.

    HiGHS prints a line here and there whatever its options are; in a pipe it would end up among the results. While a
    program is solved, the C library's variable `stdout` therefore points to a buffer. Afterwards the buffer is written
    to the true one, without the lines of HiGHS. What Python prints meanwhile, in any thread, goes its usual way.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0 and self._library is not None:
                self._true_stdout = self._stdout.value
                self._stdout.value = self._buffer
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._library is not None:
                self._stdout.value = self._true_stdout
                self._deliver(self._library)

    @cached_property
    def _library(self) -> ctypes.CDLL | None:
        """The C library, with its variable `stdout` and a buffer; None without it: nothing is held back then."""
        mac = sys.platform == "darwin"
        if not mac and platform.libc_ver()[0] != "glibc":
            return None  # in other libraries it may be a constant, which must not be written to
        try:
            library = ctypes.CDLL(None)
            self._stdout = ctypes.c_void_p.in_dll(library, "__stdoutp" if mac else "stdout")
            make = library.open_memstream
        except (OSError, ValueError, AttributeError):
            return None
        self._text, self._size = ctypes.c_void_p(), ctypes.c_size_t()
        make.restype = ctypes.c_void_p
        self._buffer: int | None = make(ctypes.byref(self._text), ctypes.byref(self._size))
        if not self._buffer:
            return None
        os.register_at_fork(after_in_child=self._in_child)
        return library

    def _deliver(self, library: ctypes.CDLL) -> None:
        """Write what is in the buffer, but for the lines of the solver, to the true output; empty the buffer."""
        buffer, stdout = ctypes.c_void_p(self._buffer), ctypes.c_void_p(self._true_stdout)
        library.fflush(buffer)
        if not self._size.value:
            return
        text = ctypes.string_at(self._text.value or 0, self._size.value)
        library.rewind(buffer)
        others = b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(_PREFIX))
        if others:
            library.fwrite(others, ctypes.c_size_t(1), ctypes.c_size_t(len(others)), stdout)

    def _in_child(self) -> None:
        """Give the true output to a process that was forked while another thread was inside."""
        self._lock = threading.Lock()
        if self._n_inside:
            self._n_inside = 0
            self._stdout.value = self._true_stdout


solver_output_held_back = _SolverOutput()
