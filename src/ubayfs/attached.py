"""What hangs on values of the method and is not part of it: cards, plots, reports, substitutes.

A selection can be plotted and reported, and every value of the method shows itself in a notebook. The method knows
nothing of that: its values ask for a function of this module by name, when such a method is called, through
:func:`ubayfs._plain.attached`. So this is the one place where the method's wing leads to the faces.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __package__,
    submod_attrs={
        "explain.redecide": ["substitutes"],  # Selection.substitutes
        "plotting": ["display_of"],  # Selection.plot
        "report.cards": ["value_html", "value_text"],  # notebooks and str, of all values
        "report.writing": ["write_report"],  # Selection.report
    },
)
