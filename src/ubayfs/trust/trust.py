"""Trust: what is known of an answer beyond its own samples, as one value that is stored with a result.

Ensembles on shuffled targets and on halves belong to the evidence: any decision on it can be judged by them. A
validation belongs to one decision. Noise and reproducibility of a decision are found from them, and not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import ReadBytes, encode_record, load_record, read_bytes
from ..ensemble.evidence import Evidence
from ..exceptions import Advice, EnsembleError, InputError
from ..selectors.registry import SELECTORS
from .ensembles import HalfEnsembles, NullEnsembles, different_settings
from .noise import Noise, noise_of
from .repeats import ARRAYS
from .validation import Validation

if TYPE_CHECKING:
    from .reproducibility import Reproducibility

LEVELS = ("none", "quick", "full")

# Most work of each level that is done without being asked for: models x samples x features x cost of the selector. A
# unit of a filter takes about 5 ns, so that these are seconds, and about a minute.
_MOST_WORK = {"full": 5e7, "quick": 5e8}
# Cost of a value that a run sees: of filters, which do all runs at once, of other selectors of ours, of all else.
_JOINT, _PER_RUN, _FOREIGN = 1, 50, 500

_KIND, _VERSION = "ubayfs trust", 1


@dataclass(frozen=True, eq=False)
class Trust:
    """What is known of an answer beyond its own samples.

    Attributes
    ----------
    level : str
        What was asked for: "none", "quick" (noise and reproducibility) or "full" (validation, too).
    null : NullEnsembles or None
        Ensembles on shuffled targets; of the evidence.
    halves : HalfEnsembles or None
        Ensembles on halves of the samples; of the evidence.
    validation : Validation or None
        Of the decision that `validated` identifies.
    validated : str
    noise : Noise or None
        The evidence compared with `null`.
    reproducibility : Reproducibility or None
        Of the decision, by `halves`.
    problems : dict of str to str
        Why a part that was asked for could not be done; not stored.
    """

    level: str = "none"
    null: NullEnsembles | None = None
    halves: HalfEnsembles | None = None
    validation: Validation | None = None
    validated: str = ""
    noise: Noise | None = None
    reproducibility: Reproducibility | None = None
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to store."""
        return self.null is None and self.halves is None and self.validation is None

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What must be known: repeats that are too few, were cancelled or failed."""
        parts = (self.noise, self.reproducibility, self.validation)
        return tuple(advice for part in parts if part is not None for advice in part.advice)

    def of(self, evidence: Evidence, validated: str) -> Trust:
        """Return what holds for a decision on evidence: ensembles of its settings, a validation of just this decision.

        The reproducibility is left out, since it depends on the decision.
        """
        halves, validation = self.halves, self.validation if validated == self.validated else None
        if halves is not None and different_settings(halves.settings, evidence):
            halves = None
        found = replace(self.with_noise(evidence), halves=halves, validation=validation, reproducibility=None)
        return replace(found, level="none" if found.empty else found.level if validation is not None else "quick")

    def with_noise(self, evidence: Evidence) -> Trust:
        """Return the trust with the noise of evidence; null ensembles of other evidence are left out."""
        try:
            noise = None if self.null is None else noise_of(evidence, self.null)
        except InputError:
            return replace(self, null=None, noise=None)
        return replace(self, noise=noise)

    def encode(self) -> bytes:
        """Return the content of a file that :meth:`load` reads: arrays and JSON, no pickle."""
        parts = {"null": self.null, "halves": self.halves}
        arrays = {
            f"{name}.{key}": array
            for name, part in parts.items()
            if part is not None
            for key, array in part.to_arrays().items()
        }
        validation = None if self.validation is None else self.validation.to_dict()
        metadata = {"level": self.level, "validation": validation, "validated": self.validated}
        return encode_record(_KIND, _VERSION, metadata, **arrays)

    @classmethod
    def load(cls, path: Path, read: ReadBytes = read_bytes) -> Trust:
        """Read what :meth:`encode` returned; EnsembleError if the file is damaged, too new, or another one."""
        metadata, arrays = load_record(path, _KIND, _VERSION, rf"(null|halves)\.({ARRAYS})", read)
        parts: dict[str, dict[str, Any]] = {"null": {}, "halves": {}}
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            parts.setdefault(part, {})[key] = array
        try:
            validation, level = metadata["validation"], metadata["level"]
            if validation is not None and Validation.of_earlier_version(validation):
                validation, level = None, "quick"
                Advice("validation_outdated", {"path": str(path)}).warn()
            return cls(
                level,
                NullEnsembles.from_arrays(parts["null"]) if parts["null"] else None,
                HalfEnsembles.from_arrays(parts["halves"]) if parts["halves"] else None,
                None if validation is None else Validation.from_dict(validation),
                metadata["validated"],
            )
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise EnsembleError(f"{path} is {_KIND}, but its parts do not fit together ({error!r}).") from error


def higher(first: str, second: str) -> str:
    """Return the level that asks for more."""
    return max(first, second, key=LEVELS.index)


def level_for(n_models: int, n_samples: int, n_features: int, selectors: Sequence[Any]) -> str:
    """Return the level that is worth its work, as it is counted; no clock decides.

    Examples
    --------
    >>> level_for(100, 569, 30, [SELECTORS["mrmr"]]), level_for(100, 102, 12600, [SELECTORS["mrmr"]])
    ('full', 'quick')
    >>> level_for(100, 102, 12600, [SELECTORS["tree"]])
    'none'
    """
    own = {type(selector) for selector in SELECTORS.values()}
    costs = [_JOINT if each.joint else _PER_RUN if type(each) in own else _FOREIGN for each in selectors]
    work = n_models * n_samples * n_features * sum(costs) / len(costs)
    return next((level for level, most in _MOST_WORK.items() if work <= most), "none")
