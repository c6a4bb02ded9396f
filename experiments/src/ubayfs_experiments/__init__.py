"""The experiments of the UBayFS paper (Jenul et al. 2022), rerun with one command: ``ubayfs-experiments``.

    data -> designs (with methods) -> registry -> runner -> store        what is run, and its results
    store -> analysis -> claims -> report                                what the results say

An experiment is a list of tasks and a function that runs one split of a task (``tasks``); ``registry`` names them all.
"""

__version__ = "0.1.0"
