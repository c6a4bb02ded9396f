"""Pairs of samples of which it is known who had the event first, and how features agree with that order.

A pair (i, j) is usable if i had the event, and j had it later, was censored later, or was censored at the same time.
With the samples in the order of time, events before censored ones of the same time, the partners j of an event are all
samples from some place on: sums over them are products with contiguous parts of the data, and no pair is ever listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._arguments import Array, Floats, Ints, Mask


@dataclass(frozen=True, eq=False)
class OrderedPairs:
    """The usable pairs of some samples."""

    order: Ints  # the samples by time, events first, (n_samples,)
    events: Ints  # places of the events in this order, (n_events,)
    partners: Ints  # the place from which on samples are known to be without event for longer, (n_events,)

    @classmethod
    def from_times(cls, time: Array, event: Array) -> OrderedPairs:
        """Find the pairs of samples with times and events of shape (n_samples,).

        >>> pairs = OrderedPairs.from_times([2, 1, 2, 3], [1, 1, 0, 0])
        >>> pairs.order, pairs.partners, pairs.n_pairs(np.ones((1, 4)))
        (array([1, 0, 2, 3]), array([1, 2]), array([5.]))
        """
        time, event = np.asarray(time), np.asarray(event, dtype=np.bool_)
        order = np.lexsort((~event, time))
        events = np.flatnonzero(event[order])
        event_times = time[order][events]
        first = np.searchsorted(time[order], event_times)
        # Of events at the same time none is known to be first: partners begin behind the last of them.
        together = np.searchsorted(event_times, event_times, side="right") - np.searchsorted(event_times, event_times)
        return cls(order, events, first + together)

    @property
    def n_all(self) -> int:
        """The number of all pairs."""
        return int((len(self.order) - self.partners).sum())

    def n_pairs(self, weights: Array) -> Floats:
        """Return the number of pairs in each run, of shape (n_runs,); weights 0 and 1 of shape (n_runs, n_samples)."""
        ordered, later = self._partners_of(weights)
        return np.asarray((ordered[:, self.events] * later).sum(axis=1))

    def _partners_of(self, weights: Array) -> tuple[Floats, Floats]:
        """Return weights in the order of time, and the number of partners of each event, (n_runs, n_events)."""
        ordered = np.asarray(weights, dtype=np.float64)[:, self.order]
        later = np.append(np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1], np.zeros((len(ordered), 1)), axis=1)
        return ordered, later[:, self.partners]

    def net(self, weights: Array) -> Floats:
        """Return the pairs of each sample in which it has the event first minus the others, 0 outside of a run.

        The result has the shape of the weights, 0 and 1: (n_runs, n_samples).

        >>> OrderedPairs.from_times([2, 1, 2, 3], [1, 1, 0, 0]).net(np.ones((1, 4)))
        array([[ 1.,  3., -2., -2.]])
        """
        ordered, later = self._partners_of(weights)
        began = np.zeros((len(ordered), ordered.shape[1] + 1))
        np.add.at(began.T, self.partners, ordered[:, self.events].T)
        # Each sample is the later one of all events whose partners begin at its place or before.
        scores = -np.cumsum(began[:, :-1], axis=1)
        scores[:, self.events] += later
        net = np.empty_like(ordered)
        net[:, self.order] = ordered * scores
        return net

    def agreement(self, block: Array, weights: Array, event_weights: Floats | None = None) -> Floats:
        """Return the pairs whose event has the higher value minus those whose event has the lower one, (n_runs, k).

        Ties in the columns of `block` count nothing, and neither do missing values (NaN). `weights` are 1 for samples
        of a run, 0 for others; the pairs of an event count `event_weights`, or 1: then the results are exact.
        """
        x = np.ascontiguousarray(block[self.order])
        higher, lower = np.empty((2, *x.shape), dtype=np.bool_)
        signs = np.empty(x.shape, dtype=np.float32)

        def compared(place: int, start: int) -> Array:
            n = len(x) - start
            np.less(x[start:], x[place], out=lower[:n])
            np.greater(x[start:], x[place], out=higher[:n])
            signs[:n] = lower[:n].view(np.int8) - higher[:n].view(np.int8)
            return signs[:n]

        return self._summed(compared, x.shape[1], weights, event_weights)

    def n_present(self, present: Mask, weights: Array) -> Floats:
        """Return the number of pairs of which both samples have a value, of shape (n_runs, k)."""
        there = present[self.order].astype(np.float32)
        return self._summed(lambda place, start: there[start:] * there[place], there.shape[1], weights)

    def _summed(
        self, compared: Callable[[int, int], Array], k: int, weights: Array, event_weights: Floats | None = None
    ) -> Floats:
        """Add up over all events what `compared` says of the partners of each."""
        # Sums of at most n_samples times +-1 are exact in single precision.
        single = np.asarray(weights, dtype=np.float32)[:, self.order]
        total = np.zeros((len(single), k))
        for place, start in zip(self.events.tolist(), self.partners.tolist(), strict=True):
            if start == len(self.order):
                break  # events are in the order of time: later ones have no partners either
            agreement = single[:, start:] @ compared(place, start)
            agreement *= single[:, place, None]
            total += agreement if event_weights is None else agreement * event_weights[self.order[place]]
        return total
