"""Study files: data, ensemble, knowledge, constraints and decision in one YAML file that reproduces a result.

`schema` has the keys, `study` the value that is read and written, `resolve` ties it to its data and finds all problems.

>>> from ubayfs import max_size
>>> from ubayfs.study import DataSection, Study
>>> study = Study(DataSection("cells.csv", target="diagnosis"), constraints=[max_size(5)])
>>> study.constraints
(max_size(5),)
"""

from ..priors.weights import Expert, Weights
from .components import Named
from .resolve import ResolvedStudy, check_study, resolve_study
from .schema import (
    DataSection,
    DecisionSection,
    EvidenceSection,
    OutputSection,
    PrefixBlocks,
    PriorSection,
    TableBlocks,
    TrustSection,
)
from .starter import template
from .study import Study, load_study

__all__ = [
    "DataSection",
    "DecisionSection",
    "EvidenceSection",
    "Expert",
    "Named",
    "OutputSection",
    "PrefixBlocks",
    "PriorSection",
    "ResolvedStudy",
    "Study",
    "TableBlocks",
    "TrustSection",
    "Weights",
    "check_study",
    "load_study",
    "resolve_study",
    "template",
]
