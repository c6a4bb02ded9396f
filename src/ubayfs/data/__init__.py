"""Data: what a table holds, its target and its blocks, checked once and frozen.

`feature_data` is the only reader of arrays and frames; everything after it trusts the values.
Correlations between features and memory-mapped files are here too.
"""

from .blocks import Blocks
from .feature_data import FeatureData
from .target import TASKS, Target

__all__ = ["TASKS", "Blocks", "FeatureData", "Target"]
