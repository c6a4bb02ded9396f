"""What the command says, and where; what Ctrl-C does to work that can be cut short."""

import os
import signal
import struct
import subprocess
import sys
import warnings

import pytest

from ubayfs.cli.console import advice_as_values, echo_error, progress, stoppable
from ubayfs.exceptions import OptimizationWarning


def test_progress_is_silent_when_nobody_watches(capsys):
    with progress("ensemble", "runs") as update:
        update(25, 100)
        update(100, 100)
    assert capsys.readouterr() == ("", "")


def test_progress_tells_the_remaining_time_in_a_terminal():
    """A bar with the count, the total and the time that is left, on a terminal that is really one."""
    code = """
import time
from ubayfs.cli.console import progress
with progress("ensemble", "runs") as update:
    for done in range(0, 101, 25):
        time.sleep(0.15)
        update(done, 100)
"""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))  # not on Windows
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the other side is closed: the end, on Linux
        pass
    assert process.wait() == 0
    os.close(ours)
    assert b"ensemble" in shown
    assert b"75/100" in shown
    assert b"runs/s" in shown
    assert b"<00:00" in shown


def test_progress_may_begin_anew(capsys):
    with progress("ensemble", "runs") as update:
        update(50, 100)
        update(25, 100)
        update(100, 100)


def test_the_first_interrupt_asks_to_stop_the_second_stops(capsys):
    seen = []
    before = signal.getsignal(signal.SIGINT)
    with stoppable(lambda done, total: seen.append(done)) as update:
        assert update(1, 3)
        signal.raise_signal(signal.SIGINT)
        assert not update(2, 3)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert seen == [1, 2]
    assert signal.getsignal(signal.SIGINT) is before
    assert "what is done so far" in capsys.readouterr().err


def test_own_warnings_are_silent_and_others_pass():
    def work():
        with advice_as_values():
            warnings.warn("look twice", OptimizationWarning, stacklevel=1)
            warnings.warn("of another package", RuntimeWarning, stacklevel=1)

    with pytest.warns(RuntimeWarning, match="of another package") as caught:
        work()
    assert len(caught) == 1


def test_tell_goes_to_stderr(capsys):
    echo_error("so")
    assert capsys.readouterr() == ("", "so\n")
