"""The solver's own lines on standard output never reach it."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from functools import cached_property

# How lines of the solver on standard output begin.
_PREFIX = b"Highs"


class _SolverOutput:
    """Holds back the output of C code while at least one thread is inside.

    HiGHS prints a line here and there (``HighsMipSolverData::transformNewIntegerFeasibleSolution ...``) whatever its
    options are; in a pipe it would end up among the results. While a program is solved, the C library's variable
    `stdout` therefore points to a buffer in memory. Afterwards the buffer is written to the true one, without the lines
    of HiGHS. File descriptor 1 is not touched: what Python prints meanwhile, in this or another thread, goes its usual
    way, and what other C code prints in another thread is delayed until the program is solved, not lost.
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
