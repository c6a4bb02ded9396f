"""Workers of an ensemble: this machine's processors, or a Dask cluster.

>>> from ubayfs.workers import on_cluster
>>> with on_cluster("tcp://10.0.0.1:8786"):  # doctest: +SKIP
...     evidence = ubayfs.collect_evidence(X, y, selector="hsic", random_state=0)
"""

from .ensemble.workers import on_cluster

__all__ = ["on_cluster"]
