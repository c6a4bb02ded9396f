from .components import Named as Named
from .names import PrefixBlocks as PrefixBlocks, TableBlocks as TableBlocks
from .resolve import ResolvedStudy as ResolvedStudy, check_study as check_study, resolve_study as resolve_study
from .schema import (
    DataSection as DataSection,
    DecisionSection as DecisionSection,
    EvidenceSection as EvidenceSection,
    OutputSection as OutputSection,
    PriorSection as PriorSection,
)
from .starter import template as template
from .study import Study as Study, load_study as load_study
from .weights import Weights as Weights

__all__: list[str]
