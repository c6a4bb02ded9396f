"""Study files: data, ensemble, knowledge, constraints and decision in one YAML file that reproduces a result."""

from .checking import check_study
from .knowledge import PrefixBlocks, TableBlocks, Weights
from .model import Study
from .named import Named
from .reading import load_study
from .resolve import ResolvedStudy, resolve_study
from .sections import DataSection, DecisionSection, EvidenceSection, OutputSection, PriorSection
from .template import template

__all__ = [
    "DataSection",
    "DecisionSection",
    "EvidenceSection",
    "Named",
    "OutputSection",
    "PrefixBlocks",
    "PriorSection",
    "ResolvedStudy",
    "Study",
    "TableBlocks",
    "Weights",
    "check_study",
    "load_study",
    "resolve_study",
    "template",
]
