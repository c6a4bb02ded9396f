"""Output of the command: answers on stdout, everything else on stderr, progress only where a person watches."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..exceptions import UBayFSWarning, printable


class Terminated(KeyboardInterrupt):
    """The program was asked to end by SIGTERM, as batch systems do; work is stored as after Ctrl-C."""


def shell_command(*words: str | os.PathLike[str]) -> str:
    """Return a command as it can be pasted into a shell; a file called like an option is one by its path.

    >>> from pathlib import Path
    >>> shell_command("ubayfs", "check", Path("s; touch x.yaml"))
    "ubayfs check 's; touch x.yaml'"
    """
    texts = [f"./{word}" if isinstance(word, os.PathLike) and str(word)[:1] == "-" else str(word) for word in words]
    return shlex.join(texts)


def echo(text: str = "") -> None:
    """Print a line of the answer; nobody reads it when the program was started without an output."""
    if sys.stdout is not None:
        sys.stdout.write(f"{printable(text)}\n")


def echo_error(text: str) -> None:
    """Print a line that is not part of the answer."""
    if sys.stderr is not None:
        sys.stderr.write(f"{printable(text)}\n")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings of the package as notes, without the place in the source that Python shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UBayFSWarning)
        show = warnings.showwarning

        def show_note(message: Any, category: Any, *place: Any, **more: Any) -> None:
            if issubclass(category, UBayFSWarning):
                echo_error(f"Note: {message}")
            else:
                show(message, category, *place, **more)

        warnings.showwarning = show_note
        yield


@contextmanager
def _handled(number: int, handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle a signal in the main thread of a program; others get none."""
    try:
        before = signal.signal(number, handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated where SIGTERM arrives."""

    def on_signal(signal_number: int, frame: Any) -> None:
        raise Terminated

    with _handled(signal.SIGTERM, on_signal):
        yield


@contextmanager
def progress(label: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Give a callback that draws a bar with the remaining time; it draws nothing when stderr is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from tqdm import tqdm

    with tqdm(desc=label, unit=unit, leave=False, file=sys.stderr, dynamic_ncols=True) as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            if done < bar.n:  # an ensemble that resumes from its checkpoint starts anew
                bar.reset(total)
            bar.update(done - bar.n)

        yield update


@contextmanager
def stoppable(update: Callable[[int, int], None]) -> Iterator[Callable[[int, int], bool]]:
    """Give a callback that asks to stop after Ctrl-C, so that what is done counts; a second one stops at once."""
    stopped = False

    def on_interrupt(signal_number: int, frame: Any) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        echo_error("\nContinuing with what is done so far; Ctrl-C again stops at once.")

    def update_and_ask(done: int, total: int) -> bool:
        update(done, total)
        return not stopped

    with _handled(signal.SIGINT, on_interrupt):
        yield update_and_ask


@contextmanager
def watched(label: str, unit: str) -> Iterator[Callable[[int, int], bool]]:
    """Give a callback that draws a bar, and asks to stop after Ctrl-C."""
    with progress(label, unit) as update, stoppable(update) as update_or_stop:
        yield update_or_stop


@contextmanager
def advice_as_values() -> Iterator[None]:
    """Silence the package's own warnings: commands show the advice of evidence, posterior and selection instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UBayFSWarning)
        yield
