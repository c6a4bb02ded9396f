"""The command ``ubayfs``, also ``python -m ubayfs``: the command line as a process of its own."""

import gc

from .cli.main import main


def run() -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(10_000)  # modules are many objects, all of which stay: garbage is not looked for among them
    code = main()
    gc.freeze()  # nor at the end, when the system takes all memory back
    return code


if __name__ == "__main__":
    raise SystemExit(run())
