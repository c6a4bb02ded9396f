"""User-guided Bayesian ensemble feature selection."""

__version__ = "0.1.0"
