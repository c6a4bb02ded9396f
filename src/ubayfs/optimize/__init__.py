"""Optimizers: the best feature set for a utility."""
