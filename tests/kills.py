"""Programs that are stopped at any call of the system."""

import os


class Killed(BaseException):
    """The program ends here; nothing that it has in `except` or `finally` is done."""


CALLS = ("replace", "fsync", "mkdir", "rmdir", "unlink", "ftruncate", "write")


def killed_at(step, monkeypatch, action):
    """Do something up to some call of the system; tell whether it was stopped there."""
    done = 0

    def stopping(call):
        def wrapped(*arguments, **keywords):
            nonlocal done
            done += 1
            if done > step:
                raise Killed
            return call(*arguments, **keywords)

        return wrapped

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, stopping(getattr(os, name)))
        try:
            action()
        except Killed:
            return True
    return False
