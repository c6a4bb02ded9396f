"""Benchmarks: ``python -m benchmarks`` measures ubayfs beside what a user would pick instead."""
