"""Forms of rules, made of the signatures of the constraint builders, so that a new kind has one at once.

What is typed into a form becomes a constraint in the way in which study files are read, with each problem at its field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from .._plain import counted
from .._problems import Path, Report, below
from ..constraints import KINDS, Constraint, words
from ..constraints.arguments import Bounds, Costs, Items
from ..data.blocks import Blocks
from ..data.correlation import METHODS
from ..exceptions import InputError
from ..knowledge.patterns import EVERY, Names
from ..knowledge.scale import number_or_word
from ..study.constraint_terms import arguments_of, expand_constraint, read_constraints

# How strictly a rule is meant: never violated; at a price in votes; in the kind's own way; with a relaxation, which
# only study files give.
MUST, PRICE, RHO, OWN = (each.name for each in (words.HARD, words.PRICE, words.RHO, words.ODDS))
REST = "rest"  # what each feature costs that is not in the list of costs
DEFAULT_PRICE = 0.2  # as a share of the models
_LINE = re.compile(r"(.*?\S)\s*[,;=:\s]\s*([-+]?[\d.,]+(?:[eE][-+]?\d+)?)")


@dataclass(frozen=True)
class Field:
    """One input of a form: an argument of a builder.

    `input` is "names" (of features or blocks), "numbers" (a name and a number per line), "count", "number" or "choice".
    """

    name: str
    label: str
    input: str
    default: Any = None
    choices: tuple[str, ...] = ()
    of_blocks: bool = False  # names of blocks, whatever the rule is about


@dataclass(frozen=True)
class Form:
    """What is asked for a kind of constraint, how strictly it can be meant, and the values to begin with."""

    kind: str
    fields: tuple[Field, ...]
    strictness: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Known:
    """The features and blocks that rules can be about; none while the data are being read, when all are accepted."""

    features: list[str]
    blocks: Blocks | None = None

    @cached_property
    def names(self) -> Names:
        """The features, to be found by name or pattern."""
        return Names(self.features or None)

    @cached_property
    def block_names(self) -> Names:
        """The blocks, to be found by name or pattern."""
        names = () if self.blocks is None else self.blocks.names
        return Names(names if self.features else None, "block")


def form_of(kind: str) -> Form:
    """Return the form of a kind of constraint.

    Examples
    --------
    >>> [(entry.label, entry.input, entry.default) for entry in form_of("decorrelate").fields]
    [('Correlation above', 'number', 0.5), ('Kind of correlation', 'choice', 'spearman')]
    >>> form_of("decorrelate").strictness, form_of("max_size").strictness
    (('odds', 'price'), ('hard', 'price'))
    """
    parameters, hints = KINDS[kind].parameters, get_type_hints(KINDS[kind].build, include_extras=True)
    fields = [_field(name, hints[name], parameters) for name in parameters if name not in (RHO, PRICE)]
    if "costs" in parameters:
        fields.insert(1, Field(REST, "Cost of each other feature", "number"))
    strictest = MUST if RHO in parameters else OWN
    values = {entry.name: entry.default for entry in fields}
    return Form(kind, tuple(fields), (strictest, PRICE), values | {"strictness": strictest, PRICE: DEFAULT_PRICE})


def _field(name: str, hint: Any, parameters: Mapping[str, Any]) -> Field:
    default = parameters[name].default
    default = None if default is parameters[name].empty else default
    label = words.LABELS.get(name, name.replace("_", " ").capitalize())
    if hint == Items:
        return Field(name, label, "names", ())
    if hint == Costs:
        return Field(name, label, "numbers", "")
    if name == "blocks" and "A" not in parameters:
        return Field(name, label, "names", (), of_blocks=True)
    if name in ("on", "blocks"):
        return Field(name, words.LABELS["on"], "choice", "features", ("features", "blocks"))
    if name == "method":
        return Field(name, label, "choice", default, tuple(METHODS))
    return Field(name, label, "number" if hint in (float, Bounds) else "count", default)


# -- what was typed ----------------------------------------------------------------------------------------------------


def read_form(
    kind: str, values: Mapping[str, Any], names_known: Known | None = None
) -> tuple[Constraint | None, dict[str, str]]:
    """Return the constraint that was filled in, or None and what is wrong by field ("" for the whole form).

    Parameters
    ----------
    kind : str
    values : mapping of str to value
        By the names of the fields, with "strictness", "rho" and "price".
    names_known : Known, optional
        Features and blocks that names are checked with.

    Examples
    --------
    >>> read_form("max_size", {"n": 10, "strictness": "hard"})
    (max_size(10), {})
    >>> read_form("max_size", {"n": -1, "strictness": "price", "price": 0.1})
    (None, {'n': 'must be a whole number >= 0; got -1.'})
    """
    problems: dict[str, str] = {}

    def report(path: Path, message: str) -> None:
        problems.setdefault(str(path[2]) if len(path) > 2 else "", message)

    arguments = _strictness(values)
    for entry in form_of(kind).fields:
        try:
            value = _typed(entry, values.get(entry.name))
        except InputError as error:
            problems[entry.name] = error.rule
            continue
        if value is not None:
            arguments[entry.name] = value
        elif entry.name in KINDS[kind].required and entry.name != "costs":
            problems[entry.name] = "must be given."
    rest, costs = arguments.pop(REST, None), arguments.get("costs")
    if costs and rest:
        costs[EVERY] = rest
    read = [] if problems else read_constraints([{kind: arguments}], report)
    if read and not problems and names_known is not None:
        _expanded(read[0], names_known, below(report, 0, kind))
        if costs and rest is None and not problems and (unlisted := _unlisted(costs, names_known)):
            problems[REST] = f"must be given: {counted(unlisted, 'feature')} are not in the list. 0 is a choice."
    return (None, problems) if problems else (read[0], {})


def _unlisted(costs: Iterable[str], names_known: Known) -> int:
    """Return how many features have no cost."""
    return len(set(names_known.features).difference(*map(names_known.names.find, costs)))


def _typed(entry: Field, value: Any) -> Any:
    """Return the argument that stands in a field; None if nothing does."""
    if entry.input == "names":
        return [str(name).strip() for name in value] if value else None
    if entry.input == "numbers":
        return read_numbers(value) if isinstance(value, str) else None
    if entry.name == "blocks":
        return True if value == "blocks" else None
    if isinstance(value, str) and entry.input != "choice":
        value = number_or_word(value.strip()) if value.strip() else None
    return int(value) if entry.input == "count" and isinstance(value, float) and value.is_integer() else value


def _strictness(values: Mapping[str, Any]) -> dict[str, Any]:
    chosen = values.get("strictness", OWN)
    if chosen in (MUST, OWN):
        return {RHO: math.inf} if chosen == MUST else {}
    amount = number_or_word(values.get(chosen))
    return {chosen: math.nan if amount in (None, "") else amount}


def _expanded(constraint: Constraint, names_known: Known, report: Report) -> Constraint | None:
    return expand_constraint(constraint, names_known.names, names_known.block_names, report)


def read_numbers(text: str) -> dict[str, float] | None:
    r"""Return the number of each name in a text with a name and a number per line; None if it is empty.

    Examples
    --------
    >>> read_numbers("mri 400\nblood test; 2,5")
    {'mri': 400.0, 'blood test': 2.5}
    """
    numbers: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line.strip())
        value = number_or_word(match[2]) if match else None
        if match is not None and isinstance(value, float) and match[1] not in numbers:
            numbers[match[1]] = value
        elif line.strip():
            rule = "names a feature again" if isinstance(value, float) else "needs a name and a number"
            raise InputError.of("numbers", f"line {number} {rule}: {line.strip()!r}.")
    return numbers or None


def values_of(constraint: Constraint) -> dict[str, Any]:
    """Return what the form shows of a constraint."""
    form, arguments = form_of(constraint.kind), arguments_of(constraint)
    values = dict(form.values)
    for entry in form.fields:
        value = arguments.get(entry.name)
        if entry.name == "costs" and isinstance(value, dict):
            values[REST] = value.pop(EVERY, 0.0)
        if entry.input == "numbers" and isinstance(value, dict):
            values[entry.name] = "\n".join(f"{name}\t{number!r}" for name, number in value.items())
        elif entry.input == "choice" and entry.name == "blocks":
            values[entry.name] = "features" if value is None else "blocks" if value is True else value
        elif value is not None:
            values[entry.name] = value
    price, rho = constraint.price, constraint.rho
    amounts = {PRICE: values[PRICE] if price is None else price, RHO: rho}
    return values | {"strictness": constraint.strictness.name} | amounts


def has_form(constraint: Constraint) -> bool:
    """Return whether the form shows all of a constraint; a matrix, or blocks of its own, it cannot."""
    try:
        return read_form(constraint.kind, values_of(constraint))[0] == constraint
    except (InputError, ValueError, TypeError):
        return False


def with_strictness(constraint: Constraint, strictness: str, amount: Any = None) -> Constraint:
    """Return a constraint that is meant more or less strictly; raise ConstraintError if the amount is wrong.

    Examples
    --------
    >>> from ubayfs import max_size
    >>> with_strictness(max_size(10), "price", 0.2)
    max_size(10, price=0.2)
    """
    others = {name: value for name, value in arguments_of(constraint).items() if name not in (RHO, PRICE)}
    return KINDS[constraint.kind].build(**others, **_strictness({"strictness": strictness, strictness: amount}))


def price_text(price: float, n_models: int) -> str:
    """Return a price, which is a share of the models, as it is typed: in votes.

    >>> price_text(0.2, 30), price_of("6", 30)
    ('6', 0.2)
    """
    return f"{price * n_models:.6g}"


def price_of(votes: Any, n_models: int) -> Any:
    """Return what was typed as votes as a share of the models; anything else than a number is left to the check."""
    number = number_or_word(votes)
    return number / n_models if isinstance(number, int | float) else number


def completions(text: str, names: Iterable[str], n: int = 20) -> list[str]:
    """Return the first names that begin with a text, then those that have it elsewhere, whatever its case.

    Examples
    --------
    >>> completions("rad", ["area", "irradiance", "Radius"])
    ['Radius', 'irradiance']
    """
    wanted = text.strip().casefold()
    having = [name for name in names if wanted in name.casefold()] if wanted else []
    return sorted(having, key=lambda name: not name.casefold().startswith(wanted))[:n]
