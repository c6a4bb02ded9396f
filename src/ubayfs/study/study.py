"""Study: everything that a selection rests on, as one frozen value that is read from a file and written to one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import __version__
from .._arguments import as_text
from .._files import ReadBytes, WithFiles, as_path, read_bytes, save_content
from .._problems import below, check_keys, collect_errors, raise_problem
from ..constraints import Constraint
from ..constraints.sizes import SUPPORTED, with_supported
from ..data.feature_data import FeatureData
from ..decision.selection import Selection
from ..decision.workflow import Decision, decide_with
from ..ensemble.collect import collect_evidence
from ..ensemble.evidence import Evidence
from ..ensemble.features_per_model import features_per_model
from ..ensemble.progress import Progress
from ..exceptions import InputError, StudyError, repr_of
from ..trust.cohorts import collect_sites
from .components import FAMILIES
from .constraint_terms import plain_constraint, read_constraints
from .diagnostics import AFTER_FILE, Origin, Problems
from .former_versions import (
    FORMER_DEFAULTS,
    PER_MODEL,
    PRESENT,
    release_of,
    unstated,
    with_former_defaults,
    with_present_defaults,
)
from .schema import (
    KEYS,
    SECTIONS,
    AnyBlocks,
    Cohorts,
    DataSection,
    DecisionSection,
    EvidenceSection,
    OutputSection,
    PriorSection,
    TrustSection,
    as_blocks,
    as_cohorts,
    plain_blocks,
)
from .yaml_io import dump_document, read_document

_HEADER = "# A study of ubayfs. Paths are relative to this file.\n\n"


@dataclass(frozen=True)
class Study:
    """Data, ensemble, prior knowledge, constraints and decision: what reproduces a result exactly.

    Studies are compared by their content, not by where their files are.

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
    trust : TrustSection
    title : str or None
        The name of the study, which heads its report.
    versions : mapping of str to str
        Of the packages that wrote the file; empty when unknown. A file of an earlier version of ubayfs is read with
        the defaults of that version.
    cohorts : Cohorts or None
        What sites sent, in place of data and ensemble.
    unstated : tuple of str
        Keys that the file does not state and whose defaults have changed since some version of ubayfs.
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
      selector: wide
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
    blocks: AnyBlocks = None
    constraints: tuple[Constraint, ...] = ()
    decision: DecisionSection = field(default_factory=DecisionSection)
    outputs: OutputSection = field(default_factory=OutputSection)
    trust: TrustSection = field(default_factory=TrustSection)
    title: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    cohorts: Cohorts | None = None
    unstated: tuple[str, ...] = field(default=(), repr=False, compare=False)
    folder: Path = field(default_factory=Path, compare=False)
    origin: Origin | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key, kind in SECTIONS.items():
            value = getattr(self, key)
            if not isinstance(value, kind):
                raise InputError.of(key, f"must be a {kind.__name__}; got {repr_of(value)}.", value)
        object.__setattr__(self, "blocks", as_blocks(self.blocks, below(raise_problem, "blocks")))
        constraints = read_constraints(self.constraints, below(raise_problem, "constraints"))
        object.__setattr__(self, "constraints", tuple(constraints))
        object.__setattr__(self, "title", None if self.title is None else as_text("title", self.title))
        object.__setattr__(self, "folder", Path(self.folder))
        object.__setattr__(self, "versions", dict(self.versions))

    def new_problems(self) -> Problems:
        """Return a collector of problems that knows the lines of what still is as in the file."""
        origin = self.origin or Origin()
        changed = frozenset(key for key, part in origin.parts.items() if part != getattr(self, key))
        return Problems(origin, changed)

    @property
    def selector(self) -> Any:
        """The selector or the list of selectors, as :func:`ubayfs.collect_evidence` takes it."""
        return FAMILIES["selector"].build(self.evidence.selector)

    def read_data(self) -> FeatureData:
        """Read and check the data table.

        Raises
        ------
        StudyError
            If the file cannot be read or its columns are not as the study says: all problems at once.
        """
        from .resolve import draft_data

        _, data, problems = draft_data(self)
        problems.raise_any()
        assert data is not None
        return data

    def arguments(self, feature_names: Any, n_models: int | None = None) -> dict[str, Any]:
        """Return the arguments of :func:`ubayfs.decide` for a data set: all but the evidence and ``X``.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,)
        n_models : int, optional
            The number of models that words of the scale are measured by; default ``evidence.n_models`` of the study.

        Raises
        ------
        StudyError
            If names do not fit the features: all of them at once, with file, line and nearest name.
        """
        from .resolve import resolve_study

        decision = resolve_study(self, data=None, feature_names=feature_names, n_models=n_models).decision
        constraints = with_supported(decision.constraints, SUPPORTED)
        return {name: getattr(decision, name) for name in Decision.names()} | {"constraints": constraints}

    def features_per_model(self, n_features: int) -> int | str:
        """Return the most of `n_features` features that a run may choose, or "random"."""
        per_model, former = self.evidence.n_features_per_model, FORMER_DEFAULTS[PER_MODEL].former
        if per_model == former and PER_MODEL in self.unstated:
            per_model = min(former, n_features)
        return features_per_model(per_model, n_features)

    def collect(
        self,
        data: Any,
        on_progress: Progress | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        part: tuple[int, int] | None = None,
    ) -> Evidence:
        """Run the ensemble, or a part of it, on data as :meth:`read_data` returns them."""
        settings = {**self.evidence.arguments(), "selector": self.selector}
        settings["n_features_per_model"] = self.features_per_model(data.n_features)
        if self.data.sites is not None:
            if part is not None:
                raise InputError.of("part", "cannot be combined with data.sites: votes of all runs are pooled.")
            return collect_sites(data, **settings, on_progress=on_progress, checkpoint=checkpoint)
        return collect_evidence(data, **settings, on_progress=on_progress, checkpoint=checkpoint, part=part)

    def decide(self, evidence: Evidence, data: Any = None) -> Selection:
        """Choose the best set from evidence; `data` are needed where correlations are, as by ``decorrelate``."""
        from .resolve import resolve_study

        names, n_models = evidence.feature_names, evidence.n_models
        study = self if self.blocks is not None else replace(self, blocks=getattr(data, "blocks", None))
        resolved = resolve_study(study, data=None, feature_names=names, n_models=n_models)
        unsized = with_supported(resolved.decision.constraints, SUPPORTED)  # refused: p-values give the number
        return decide_with(resolved.decision.replace(constraints=unsized), evidence, data, resolved.prior)

    def to_dict(self, versions: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the study in plain types, with the keys of the file; `versions` are those that write it, if others.

        Raises
        ------
        StudyError
            If it holds an object that cannot be written to a file, such as a function as selector.
        """
        parts: dict[str, Any] = {key: getattr(self, key).plain() for key in SECTIONS}
        parts |= {"title": self.title, "blocks": plain_blocks(self.blocks)}
        parts["constraints"] = [plain_constraint(constraint) for constraint in self.constraints]
        if self.cohorts is not None:
            parts |= {"cohorts": dict(self.cohorts.directories), "data": None, "evidence": None}
        parts["versions"] = dict(self.versions if versions is None else versions)
        release = release_of(parts["versions"].get("ubayfs", "")) or PRESENT
        parts = with_present_defaults(parts, release)  # whoever reads an earlier version takes other ones
        return {key: parts[key] for key in KEYS if parts.get(key)}

    def to_yaml(self, versions: Mapping[str, str] | None = None) -> str:
        """Return the study as the text of a study file in its folder."""
        return _HEADER + dump_document(self.to_dict(versions))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a file, whole or not at all; relative paths are adapted to its folder."""
        file = as_path(path)
        save_content(file, self.moved_to(file.parent).to_yaml().encode("utf-8"), StudyError)

    def moved_to(self, folder: Path | None) -> Study:
        """Return the study with its paths relative to another folder; None: absolute ones, which hold anywhere."""
        old, folder = Path(os.path.abspath(self.folder)), folder and Path(os.path.abspath(folder))
        parts: dict[str, Any] = {
            key: getattr(self, key) for key in ("data", "cohorts", "prior", "blocks", "trust", "outputs")
        }
        for key, part in parts.items():
            if isinstance(part, WithFiles):
                parts[key] = part.with_paths(lambda path: moved_path(path, old, folder))
        return replace(self, **parts)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the files that the study reads."""
        block_files = self.blocks.files if isinstance(self.blocks, WithFiles) else ()
        return (*self.data.files, *self.prior.files, *block_files, *self.trust.files)


def moved_path(path: str, old: Path, new: Path | None) -> str:
    """Return a path that is relative to one folder as one relative to another, or as an absolute one.

    Examples
    --------
    >>> moved_path("data.csv", Path("/home/lab"), Path("/home/lab/results"))
    '../data.csv'
    """
    if not path or os.path.isabs(path) or old == new:
        return path
    target = os.path.abspath(old / path)
    try:
        return Path(target if new is None else os.path.relpath(target, new)).as_posix()
    except ValueError:  # another drive
        return Path(target).as_posix()


def load_study(path: str | os.PathLike[str], *, read: ReadBytes = read_bytes) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : str or path
    read : callable
        Returns the content of the file.

    Returns
    -------
    study : Study
        Its names are not compared with the data yet; :func:`resolve_study` does that.

    Raises
    ------
    StudyError
        If there is anything wrong: all problems at once, each with its line and key.
    """
    study, problems = read_draft(path, read)
    problems.raise_any(AFTER_FILE)
    return study


def read_draft(path: str | os.PathLike[str], read: ReadBytes = read_bytes) -> tuple[Study, Problems]:
    """Read as much of a study file as can be read: a study with defaults where it is wrong, and all that is wrong."""
    file = as_path(path)
    value, problems = read_document(file, read)
    if value is None:
        problems((), "is empty; a study needs at least 'data: {path: data.csv}'. 'ubayfs init data.csv' writes one.")
    elif not isinstance(value, dict):
        problems((), f"must hold keys such as data, evidence, constraints; got a {type(value).__name__}.")
    if not isinstance(value, dict):
        problems.raise_any()
    return _draft(value, file.parent, problems), problems


def study_of(value: Mapping[str, Any], folder: Path) -> Study:
    """Return the study that :meth:`Study.to_dict` gave, with paths relative to a folder, or raise all problems."""
    problems = Problems()
    study = _draft(value, folder, problems)
    problems.raise_any()
    return study


def _draft(value: Mapping[Any, Any], folder: Path, problems: Problems) -> Study:
    """Return a study with defaults where something is wrong; that is reported."""
    value = check_keys(value, KEYS, "a key of a study", problems)
    versions_read = value.get("versions") or {}
    if not isinstance(versions_read, dict):
        problems(("versions",), f"must map packages to versions; got {repr_of(versions_read)}. It may be left out.")
        versions_read = {}
    versions = {str(package): str(version) for package, version in versions_read.items()}
    not_stated, release = unstated(value), release_of(versions.get("ubayfs", ""))
    if release is None and "ubayfs" in versions:
        rule = (
            f"must be a version of ubayfs such as {__version__}; got {repr_of(versions['ubayfs'])}. It may be left out."
        )
        problems(("versions", "ubayfs"), rule)
    if release is not None:
        value = with_former_defaults(value, release)
    cohorts = as_cohorts(value.get("cohorts"), below(problems, "cohorts"))
    pooled = value.get("cohorts") is not None
    for key in ("data", "evidence") if pooled else ():
        if value.get(key) is not None:
            problems(
                (key,), "cannot be given together with cohorts: sites have read their data and run their ensembles."
            )
    parts: dict[str, Any] = {
        key: DataSection("") if pooled and key == "data" else section.read(value.get(key), problems)
        for key, section in SECTIONS.items()
    }
    parts["cohorts"] = cohorts
    parts["blocks"] = as_blocks(value.get("blocks"), below(problems, "blocks"))
    parts["constraints"] = tuple(read_constraints(value.get("constraints"), below(problems, "constraints")))
    with collect_errors(problems, ("title",)):
        parts["title"] = None if value.get("title") is None else as_text("title", value["title"])
    parts |= {"versions": versions, "unstated": not_stated}
    problems.origin = replace(problems.origin, parts=parts)
    return Study(**parts, folder=folder, origin=problems.origin)
