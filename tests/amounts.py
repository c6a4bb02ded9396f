"""How many random problems the tests try: all of them with UBAYFS_THOROUGH=1, as make test-all does, else a fifth."""

import os

_STEP = 1 if os.environ.get("UBAYFS_THOROUGH") else 5


def seeds(n):
    """Return the seeds below n that are tried."""
    return range(0, n, _STEP)


def examples(n):
    """Return how many of n examples hypothesis tries; so few that more would cost nothing are all tried."""
    return n if n <= 12 else n // _STEP
