"""The experiments of the paper (Jenul et al. 2022), rerun with one command: ``ubayfs experiments``."""
