"""The designs of the experiments: which cells there are, their fixed settings, and how one split of a cell is run.

``simulation`` is experiment 1, ``real_world`` experiment 2; ``causes``, ``optimizers`` and ``controls`` examine them.
"""
