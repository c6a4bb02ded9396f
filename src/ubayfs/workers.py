"""Workers of an ensemble: this machine's processors, or a Dask cluster."""

from .ensemble.workers import on_cluster

__all__ = ["on_cluster"]
