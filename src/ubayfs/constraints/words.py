"""Words that kinds of constraints share: ways of being strict, parameters in help and forms, values in sentences."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _plain
from .._plain import counted, listing
from ..exceptions import shortened

_LONGEST = 60  # letters of a name in a sentence


# -- how strictly a constraint is meant --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strictness:
    """A way in which a constraint can be meant.

    Attributes
    ----------
    name : str
    choice : str
        What a form calls it.
    """

    name: str
    choice: str


HARD = Strictness(_plain.HARD, "must hold")
PRICE = Strictness("price", "wish with a price")
RHO = Strictness("rho", "wish with a strength")
ODDS = Strictness("odds", "wish by correlation")  # the relaxation of a pair is the odds of its correlation
STRICTNESS = {each.name: each for each in (HARD, PRICE, RHO, ODDS)}


def strictness_in_words(strictness: Strictness, amount: Any, n_models: int | None = None) -> str:
    """Return how strictly a constraint is meant; `amount` is its price or rho, one for all inequalities or one each."""
    if isinstance(amount, tuple):
        return "each condition has its own price"
    if amount == 0:
        return "no effect, since it costs nothing to violate it"
    if strictness is PRICE:
        costs = (
            f"{amount:g} of the models' votes" if n_models is None else f"{amount * n_models:g} of {n_models:,} votes"
        )
        return f"one violation costs {costs}"
    if strictness is ODDS:
        return "the stronger the correlation, the more it costs"
    return strictness.name if strictness is HARD else f"strength (rho) {amount:g}"


# -- parameters --------------------------------------------------------------------------------------------------------

# What forms call the parameters of builders; others have their name.
LABELS = {
    "n": "Number",
    "if_features": "If one of these is selected",
    "then_features": "then all of these must be",
    "threshold": "Correlation above",
    "method": "Kind of correlation",
    "on": "About",
    "A": "Coefficients: a name or pattern and a number per line",
    "b": "Sum at most",
    "costs": "Costs: a name or pattern and a number per line",
    "blocks": "Blocks (empty: all)",
}

# Parameters that most builders have, as docstrings describe them.
_RHO_AND_PRICE = """\
rho, price : float, optional
    How soft the constraint is, as in :func:`~ubayfs.max_size`; hard if neither is given."""
_SHARED_PARAMETERS = {
    "n": "n : int",
    "features": "features : str, int or iterable of these\n    By name or position.",
    "rho": _RHO_AND_PRICE,
    "price": _RHO_AND_PRICE,
    "on": """\
on : {"features", "blocks"}, default "features"
    Whether the names, or positions, are those of features or of blocks.""",
}
_SECTION = re.compile(r"\n\n(?=[A-Z][A-Za-z ]+\n-{3,}\n)")
_HEADING = "Parameters\n----------\n"


def with_shared_parameters(docstring: str | None, parameters: Collection[str]) -> str:
    """Return the docstring of a builder with those parameters that most builders share, unless it describes them.

    >>> with_shared_parameters("Select at most `n` features.", ["n"]).splitlines()
    ['Select at most `n` features.', '', 'Parameters', '----------', 'n : int']
    """
    beginning, *sections = _SECTION.split(inspect.cleandoc(docstring or ""))
    described = sections.pop(0).removeprefix(_HEADING) if sections and sections[0].startswith(_HEADING) else ""
    entries = dict(_SHARED_PARAMETERS)
    for entry in re.split(r"\n(?=\S)", described):
        entries |= dict.fromkeys(entry.partition(" : ")[0].split(", "), entry)
    listed = dict.fromkeys(entries[name] for name in parameters if name in entries)
    section = [_HEADING + "\n".join(listed)] if listed else []
    return "\n\n".join([beginning, *section, *sections])


# -- values in sentences -----------------------------------------------------------------------------------------------


def values_in_words(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments of a constraint as its sentence has them.

    >>> values_in_words({"n": 1, "threshold": 0.9, "features": ("a", "b"), "on": "blocks"})
    {'n': '1 feature', 'threshold': '0.9', 'features': 'the blocks a and b', 'on': 'blocks'}
    """
    words = {name: str(value) for name, value in arguments.items()}
    for name, value in arguments.items():
        if name == "n":
            supported = isinstance(value, str)
            words[name] = "as many features as the data support" if supported else counted(value, "feature")
        elif name.endswith("features"):
            words[name] = ("the blocks " if arguments.get("on") == "blocks" else "") + names_in_words(value)
        elif name == "blocks":
            words[name] = f"{names_in_words(value)}, each" if value else "each block"
        elif name == "method":
            words[name] = str(value).capitalize()
        elif isinstance(value, float):
            words[name] = f"{value:g}"
    return words


def names_in_words(names: Iterable[Any]) -> str:
    """List names; very long ones without their middle."""
    return listing([shortened(str(name), _LONGEST) for name in names])
