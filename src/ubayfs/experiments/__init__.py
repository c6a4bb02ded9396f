"""The experiments of the paper (Jenul et al. 2022), rerun with one command: ``ubayfs experiments``.

    datasets, synthetic -> catalogue -> splits -> simulation (1a to 1d), real_world (2) with baselines and predictors,
    causes with variants, optimizers, controls -> registry -> runner -> store
    store -> aggregate -> claims, differences -> explanations -> report_tables, figures -> page

An experiment is a list of tasks and a function that runs one split of a task (``tasks``); ``registry`` names them all.
"""
