"""Study: everything that a selection rests on, as one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .._files import write_atomically
from ..constraints import Constraint
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..ensemble.collect import Progress, versions
from ..ensemble.evidence import Evidence
from ..exceptions import InputError, Problem, StudyError
from ..selection import Selection
from ..workflow import collect_evidence, decide
from .dumping import dump_document
from .features import find_features, find_table
from .knowledge import PrefixBlocks, TableBlocks, as_blocks
from .named import OPTIMIZER, SELECTOR, build
from .problems import Path as KeyPath
from .problems import Problems, below, refuse
from .resolving import Resolver
from .sections import DataSection, DecisionSection, EvidenceSection, OutputSection, PriorSection, Section
from .terms import as_constraints, plain_constraint
from .writing import moved_sections, plain_blocks, plain_section

_HEADER = "# A study of ubayfs. Paths are relative to this file.\n\n"


@dataclass(frozen=True)
class Origin:
    """Where a study was read from.

    Attributes
    ----------
    file : str
    lines : mapping of Path to int
        Line of each key.
    parts : mapping of str to value
        What the file said; a changed copy of the study (:func:`dataclasses.replace`) says something else.
    aliases : mapping of Path to Path or str
        Where else something was said; see :class:`~ubayfs.study.problems.Problems`.
    """

    file: str
    lines: Mapping[KeyPath, int]
    parts: Mapping[str, Any]
    aliases: Mapping[KeyPath, KeyPath | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """Data, ensemble, prior knowledge, constraints and decision: what reproduces a result exactly.

    Studies are compared by what they say, not by where their files are.

    Attributes
    ----------
    data : DataSection
    evidence : EvidenceSection
    prior : PriorSection
    blocks : Blocks, PrefixBlocks, TableBlocks or None
        Also given as a mapping or a DataFrame.
    constraints : tuple of Constraint
        Features may be given by patterns such as ``radius*``.
    decision : DecisionSection
    outputs : OutputSection
    versions : mapping of str to str
        Of the packages that wrote the file; empty when unknown.
    folder : Path
        Relative paths start here: the directory of the study file.
    origin : Origin or None
        The file that the study was read from, for messages.

    Examples
    --------
    >>> from ubayfs import max_size
    >>> study = Study(DataSection("cells.csv", target="diagnosis"), constraints=[max_size(5)])
    >>> print(study.to_yaml())
    # A study of ubayfs. Paths are relative to this file.
    <BLANKLINE>
    data:
      path: cells.csv
      target: diagnosis
    <BLANKLINE>
    evidence:
      selector: mrmr
      n_models: 100
      seed: 0
    <BLANKLINE>
    constraints:
      - max_size: 5
    <BLANKLINE>
    decision:
      constraint_strength: 1
      optimizer: exact
      seed: 0
    <BLANKLINE>
    """

    data: DataSection
    evidence: EvidenceSection = field(default_factory=EvidenceSection)
    prior: PriorSection = field(default_factory=PriorSection)
    blocks: Blocks | PrefixBlocks | TableBlocks | None = None
    constraints: tuple[Constraint, ...] = ()
    decision: DecisionSection = field(default_factory=DecisionSection)
    outputs: OutputSection = field(default_factory=OutputSection)
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    folder: Path = field(default_factory=Path, compare=False)
    origin: Origin | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        kinds = {
            kind.key: kind for kind in (DataSection, EvidenceSection, PriorSection, DecisionSection, OutputSection)
        }
        for key, kind in kinds.items():
            if not isinstance(getattr(self, key), kind):
                raise InputError(f"{key} must be a {kind.__name__}; got {getattr(self, key)!r}.")
        object.__setattr__(self, "blocks", as_blocks(self.blocks, below(refuse, "blocks")))
        object.__setattr__(self, "constraints", as_constraints(self.constraints, below(refuse, "constraints")))
        object.__setattr__(self, "folder", Path(self.folder))
        object.__setattr__(self, "versions", dict(self.versions))

    def new_problems(self) -> Problems:
        """Return a collector of problems that knows the lines of what still is as in the file."""
        if self.origin is None:
            return Problems()
        changed = frozenset(key for key, part in self.origin.parts.items() if part != getattr(self, key))
        return Problems(self.origin.file, self.origin.lines, changed, self.origin.aliases)

    @property
    def selector(self) -> Any:
        """The selector or the list of selectors, as :func:`ubayfs.collect_evidence` takes it."""
        return build(SELECTOR, self.evidence.selector)

    def read_data(self) -> FeatureData:
        """Read and check the data table.

        Raises
        ------
        StudyError
            If the file cannot be read or its columns are not as the study says: all problems at once.
        """
        problems = self.new_problems()
        return problems.unless_any(find_features(self.data, find_table(self.data, self.folder, problems), problems))

    def arguments(self, feature_names: Any, n_models: int | None = None) -> dict[str, Any]:
        """Return the arguments of :func:`ubayfs.decide` for a data set: all but the evidence and ``X``.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,)
        n_models : int, optional
            What "likely" and "very likely" are measured by; default ``evidence.n_models`` of the study.

        Raises
        ------
        StudyError
            If names do not fit the features: all of them at once, with file, line and nearest name.
        """
        problems = self.new_problems()
        return problems.unless_any(self.resolve(feature_names, problems, n_models))

    def resolve(self, feature_names: Any, problems: Problems, n_models: int | None = None) -> dict[str, Any]:
        """Return what :meth:`arguments` does, as far as it can be told; what stands in the way goes to `problems`."""
        resolver = Resolver(feature_names, self.folder, problems)
        blocks = resolver.blocks(self.blocks)
        weights, unlikely = resolver.weights(self.prior, blocks, n_models or self.evidence.n_models)
        prior = resolver.prior(self.prior.kind, weights, blocks)
        constraints = resolver.constraints(self.constraints, blocks, unlikely)
        return {
            "weights": weights,
            "prior": prior,
            "constraints": constraints,
            "blocks": blocks,
            "constraint_strength": self.decision.constraint_strength,
            "optimizer": build(OPTIMIZER, self.decision.optimizer),
            "min_votes": self.decision.min_votes,
            "time_limit": self.decision.time_limit,
            "n_alternatives": self.decision.n_alternatives,
            "random_state": self.decision.seed,
        }

    def inlined(self, feature_names: Any) -> Study:
        """Return the study with what its tables say written out, so that it needs no file but the data.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,)

        Raises
        ------
        StudyError
            If names do not fit the features.
        """
        problems = self.new_problems()
        resolver = Resolver(feature_names, self.folder, problems)
        blocks = resolver.blocks(self.blocks)
        weights = resolver.said(self.prior, blocks, self.evidence.n_models)
        problems.raise_any()
        return replace(
            self,
            prior=replace(self.prior, weights=weights, table=None, sheet=None),
            blocks=blocks if isinstance(self.blocks, TableBlocks) else self.blocks,
        )

    def collect(
        self, data: Any, on_progress: Progress | None = None, checkpoint: str | os.PathLike[str] | None = None
    ) -> Evidence:
        """Run the ensemble on data, as :meth:`read_data` returns them."""
        told = self.evidence
        return collect_evidence(
            data,
            selector=self.selector,
            n_models=told.n_models,
            train_size=told.train_size,
            n_features_per_model=told.n_features_per_model,
            random_state=told.seed,
            n_jobs=told.n_jobs,
            on_progress=on_progress,
            checkpoint=checkpoint,
        )

    def decide(self, evidence: Evidence, data: Any = None) -> Selection:
        """Choose the best set from evidence; `data` are needed by ``decorrelate`` and by measures of correlation."""
        return decide(evidence, X=data, **self.arguments(evidence.feature_names, evidence.n_models))

    def to_dict(self) -> dict[str, Any]:
        """Return the study in plain types, with the keys of the file.

        Raises
        ------
        StudyError
            If it holds an object that cannot be written to a file, such as a function as selector.
        """
        shown: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Section):
                value = plain_section(value)
            elif one.name == "blocks" and value is not None:
                value = plain_blocks(value)
            elif one.name == "constraints":
                value = [plain_constraint(constraint) for constraint in value]
            elif one.name != "versions":
                continue
            if value:
                shown[one.name] = value
        return shown

    def to_yaml(self) -> str:
        """Return the study as the text of a study file in its folder."""
        return _HEADER + dump_document(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a file, whole or not at all; relative paths are adapted to where it lies."""
        file = Path(path)
        parts = moved_sections(
            self.data, self.prior, self.blocks, self.outputs, Path(os.path.abspath(self.folder)),
            Path(os.path.abspath(file.parent)),
        )  # fmt: skip
        content = replace(self, **parts).to_yaml().encode("utf-8")
        try:
            write_atomically(file, content)
        except OSError as error:
            problem = f"{file} could not be written ({error.strerror or error}); nothing was changed there."
            raise StudyError(problem, (Problem(problem),)) from error

    def version_note(self) -> str | None:
        """Return a sentence if another version of ubayfs wrote the study, else None."""
        now, then = versions()["ubayfs"], self.versions.get("ubayfs")
        if then is None or str(then).split(".")[:2] == now.split(".")[:2]:
            return None
        return f"The study was written by ubayfs {then}, this is {now}; results may differ."
