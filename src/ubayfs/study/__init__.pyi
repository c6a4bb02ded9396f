from .components import Named as Named
from .names import PrefixBlocks as PrefixBlocks
from .names import TableBlocks as TableBlocks
from .resolve import ResolvedStudy as ResolvedStudy
from .resolve import check_study as check_study
from .resolve import resolve_study as resolve_study
from .schema import (
    DataSection as DataSection,
)
from .schema import (
    DecisionSection as DecisionSection,
)
from .schema import (
    EvidenceSection as EvidenceSection,
)
from .schema import (
    OutputSection as OutputSection,
)
from .schema import (
    PriorSection as PriorSection,
)
from .starter import template as template
from .study import Study as Study
from .study import load_study as load_study
from .weights import Weights as Weights

__all__: list[str]
