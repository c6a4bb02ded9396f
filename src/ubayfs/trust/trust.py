"""Trust: what is known of an answer beyond its own samples, as one value that is stored with a result.

P-values of all features belong to the data, ensembles on halves to the evidence: any decision can be judged by them. A
validation belongs to one decision. The reproducibility of a decision is computed from the halves, and not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._files import ReadBytes, encode_record, load_record, read_bytes
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, EnsembleError, InputError
from .gene_sets import ARRAYS as GENE_SETS_ARRAYS
from .gene_sets import GeneSets
from .growth import Growth
from .halves import HalfEnsembles, different_settings
from .procedure import counted_work
from .related import ARRAYS as RELATED_ARRAYS
from .related import Related
from .repeats import ARRAYS
from .validation import Validation

if TYPE_CHECKING:
    from .reproducibility import Reproducibility

T = TypeVar("T", Related, GeneSets)

LEVELS = ("none", "quick", "full")

# Most work of each level that is done without being asked for: models x samples x features x cost of the selector. A
# unit of a filter takes about 5 ns, so that these are seconds, and about a minute.
_MOST_WORK = {"full": 5e7, "quick": 5e8}

_KIND, _VERSION = "ubayfs trust", 1
# Arrays of a file; those of shuffled votes, which version 0.2 stored, are not used.
_NAMES = rf"related\.({RELATED_ARRAYS})|gene_sets\.({GENE_SETS_ARRAYS})|(null|halves)\.({ARRAYS})"


@dataclass(frozen=True, eq=False)
class Trust:
    """What is known of an answer beyond its own samples.

    Attributes
    ----------
    level : str
        What was asked for: "none", "quick" (related and reproducibility) or "full" (validation, too).
    related : Related or None
        P-values of all features, for any set of them; of the data.
    halves : HalfEnsembles or None
        Ensembles on halves of the samples; of the evidence.
    validation : Validation or None
        Of the decision that `validated` identifies.
    validated : str
    reproducibility : Reproducibility or None
        Of the decision, by `halves`.
    growth : Growth or None
        Of the same decision as the validation.
    gene_sets : GeneSets or None
        Gene sets with their association with the target; of the data.
    problems : dict of str to str
        Why a part that was asked for could not be done; not stored.
    """

    level: str = "none"
    related: Related | None = None
    halves: HalfEnsembles | None = None
    validation: Validation | None = None
    validated: str = ""
    reproducibility: Reproducibility | None = None
    growth: Growth | None = None
    gene_sets: GeneSets | None = None
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to store."""
        parts = (self.related, self._halves_to_store, self.validation, self.gene_sets)
        return all(part is None for part in parts)

    @property
    def _halves_to_store(self) -> HalfEnsembles | None:
        """The halves, unless they are pooled: pooled evidence has them."""
        return self.halves if self.halves is not None and self.halves.settings else None

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: repeats that were cancelled or failed."""
        parts = (self.reproducibility, self.validation)
        return tuple(advice for part in parts if part is not None for advice in part.advice)

    def of(self, evidence: Evidence, validated: str) -> Trust:
        """Return what holds for a decision on evidence: ensembles of its settings, a validation of just this decision.

        The reproducibility is left out, since it depends on the decision.
        """
        halves, validation = self.halves, self.validation if validated == self.validated else None
        if halves is not None and different_settings(halves.settings, evidence):
            halves = None
        related, gene_sets = _of_same_data(self.related, evidence), _of_same_data(self.gene_sets, evidence)
        if related is not None and (votes := related.shuffled_votes) is not None:
            related = replace(related, shuffled_votes=votes.beside(evidence))
        level = "none" if halves is None else "quick" if validation is None else self.level
        kept = replace(self, related=related, halves=halves, validation=validation, gene_sets=gene_sets)
        return replace(kept, level=level, growth=None if validation is None else self.growth, reproducibility=None)

    def encode(self) -> bytes:
        """Return the content of a file that :meth:`load` reads: arrays and JSON, no pickle."""
        halves = {} if self._halves_to_store is None else self._halves_to_store.to_arrays()
        about, p_values = (None, {}) if self.related is None else self.related.to_record()
        sets, of_sets = (None, {}) if self.gene_sets is None else self.gene_sets.to_record()
        parts = {"related": p_values, "halves": halves, "gene_sets": of_sets}
        arrays = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.items()}
        validation = None if self.validation is None else self.validation.to_dict()
        metadata = {
            "level": self.level,
            "related": about,
            "gene_sets": sets,
            "growth": None if self.growth is None else self.growth.to_dict(),
            "validation": validation,
            "validated": self.validated,
        }
        return encode_record(_KIND, _VERSION, metadata, **arrays)

    @classmethod
    def load(cls, path: Path, read: ReadBytes = read_bytes) -> Trust:
        """Read what :meth:`encode` returned; EnsembleError if the file is damaged, too new, or another one."""
        metadata, arrays = load_record(path, _KIND, _VERSION, _NAMES, read)
        parts: dict[str, dict[str, Any]] = {"related": {}, "halves": {}, "gene_sets": {}}
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            parts.setdefault(part, {})[key] = array
        try:
            validation, level, about = metadata["validation"], metadata["level"], metadata.get("related")
            sets, growth = metadata.get("gene_sets"), metadata.get("growth")
            if validation is not None and Validation.of_earlier_version(validation):
                validation, level = None, "quick"
                Advice("validation_outdated", {"path": str(path)}).warn()
            return cls(
                level,
                None if about is None else Related.from_record(about, parts["related"]),
                HalfEnsembles.from_arrays(parts["halves"]) if parts["halves"] else None,
                None if validation is None else Validation.from_dict(validation),
                metadata["validated"],
                growth=None if growth is None else Growth.from_dict(growth),
                gene_sets=None if sets is None else GeneSets.from_record(sets, parts["gene_sets"]),
            )
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise EnsembleError(f"{path} is {_KIND}, but its parts do not fit together ({error!r}).") from error


def _of_same_data(tested: T | None, evidence: Evidence) -> T | None:
    """Return p-values if they are of the data that evidence was collected on."""
    if tested is None:
        return None
    same = evidence.settings.get("data_fingerprint", tested.data_fingerprint) == tested.data_fingerprint
    return tested if same and np.array_equal(tested.feature_names, evidence.feature_names) else None


def higher(first: str, second: str) -> str:
    """Return the level that asks for more."""
    return max(first, second, key=LEVELS.index)


def level_for(n_models: int, n_samples: int, n_features: int, selectors: Sequence[Any]) -> str:
    """Return the level that is worth its work, as it is counted; no clock decides.

    >>> from ubayfs.selectors import SELECTORS
    >>> level_for(100, 569, 30, [SELECTORS["mrmr"]]), level_for(100, 102, 12600, [SELECTORS["mrmr"]])
    ('full', 'quick')
    >>> level_for(100, 102, 12600, [SELECTORS["tree"]]), level_for(100, 102, 3000, [SELECTORS["wide"]])
    ('none', 'quick')
    """
    work = counted_work(n_models, n_samples, n_features, selectors)
    return next((level for level, most in _MOST_WORK.items() if work <= most), "none")
