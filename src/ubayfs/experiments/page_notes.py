"""What a reader of the sections on the optimizers and on the controls must know to read their figures right."""

from __future__ import annotations

from dataclasses import replace

from ..report.document import Section
from .page_content import Content
from .page_sections import controls_section, number, optimizers_section, table_of
from .report_tables import GUIDED, TO_THE_LETTER, control_counts, control_table


def optimizers_with_notes(content: Content) -> Section:
    """Return the section on the optimizers, and say which of them is the paper's."""
    section = optimizers_section(content)
    if content.frames["optimizers"].empty:
        return section
    notes = (
        f"“{GUIDED}” starts from guided sets, which is our improvement: the best set that each chain of the paper's "
        f"Algorithm 1 passes through, in place of the one that it ends with. “{TO_THE_LETTER}” is the paper's "
        "Algorithm 1 taken literally; it was run on the plain problem alone.",
    )
    return replace(section, sentences=(*notes, *section.sentences))


def controls_with_counts(content: Content) -> Section:
    """Return the section on the controls, with the number of far figures beside the one that chance gives."""
    section = controls_section(content)
    if content.frames["controls"].empty:
        return section
    counts = control_counts(control_table(content.frames["controls"]))
    rows = [
        (f"{row['beyond']} standard errors", row["figures"], row["above"], row["below"], number(row["expected"], 1))
        for row in counts.to_dict("records")
    ]
    headings = ("further from 0.5 than", "figures", "above", "below", "expected by chance on each side")
    caption = (
        "Figures of the shuffled target that lie far from 0.5. A leak would put many above. The two predictors of a "
        "cell judge the same sets on the same rows, so that their figures go far together."
    )
    return replace(section, tables=(table_of(caption, headings, rows), *section.tables))
