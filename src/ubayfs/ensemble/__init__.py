"""Ensemble: elementary selectors on subsamples of the data, gathered into Evidence.

`collect` runs it, `subsampling` draws, `batches` does runs, `workers` share them, `checkpoint` stores finished ones.
The result, `evidence`, is the feature set that each run chose.
"""

from .collect import Progress, collect_evidence
from .evidence import Evidence, RunFailure

__all__ = ["Evidence", "Progress", "RunFailure", "collect_evidence"]
