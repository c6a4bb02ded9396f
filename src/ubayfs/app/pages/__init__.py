"""The screens: each draws into the frame at ``/s/{study}/{screen}``."""

from .answer import draw_answer
from .data import draw_data
from .evidence import draw_evidence
from .know import draw_know
from .rules import draw_rules
from .versions import draw_versions

PAGES = {
    "data": draw_data,
    "know": draw_know,
    "rules": draw_rules,
    "evidence": draw_evidence,
    "answer": draw_answer,
    "versions": draw_versions,
}
