"""Constraint: what an expert wants of a set, by name; and Inequalities: what it means for the features at hand.

Every kind of constraint is two functions that stand together (see :mod:`ubayfs.constraints.sizes`): a builder, which
checks what the user gives, and a function of the same arguments that returns the inequalities a^T z <= b once it is
known which features and blocks there are. :func:`builder` ties the two together, with the sentence that says in plain
words what such a constraint asks for, and registers the kind. Study, command line, report and app take a kind's words
from here; :mod:`.words` has what several kinds share.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, wraps
from typing import Any, ParamSpec, get_type_hints

import numpy as np
from scipy import sparse

from .._arguments import Array, FeatureIndex, Floats, Ints, by_name, entries_of
from .._plain import ShownAsCard, listed
from ..data.blocks import Blocks
from ..data.feature_data import FeatureData
from ..exceptions import ConstraintError, InputError, repr_of
from .arguments import Items, plain_argument, shown
from .words import HARD, ODDS, PRICE, RHO, Strictness, strictness_in_words, values_in_words, with_shared_parameters

P = ParamSpec("P")
# What constraints of a kind ask for: a text with the names of arguments in braces, such as "At most {n}", or a function
# of the arguments; empty: the first line of the builder's docstring, and the arguments.
Sentence = str | Callable[[Mapping[str, Any]], str]

_LISTED = 6  # names shown in one label


@dataclass(frozen=True, repr=False)
class Constraint(ShownAsCard):
    """A side constraint by name, not yet tied to a data set; made by builders such as :func:`~ubayfs.max_size`.

    Attributes
    ----------
    kind : str
        Name of the builder.
    arguments : tuple of (str, value)
        Its arguments, checked and immutable: constraints can be compared, hashed, copied and pickled.
    from_prior : bool
        Whether it stands for prior knowledge about features ("unlikely") rather than for a demand on the set. The
        answer is the same.
    note : str
        What the user wrote, where that is more telling than the arguments, such as ``radius*``.

    See Also
    --------
    max_size : The most used builder.
    log_admissibility : How admissible sets are.

    Examples
    --------
    >>> from ubayfs import max_size
    >>> constraint = max_size(10, rho=0.5)
    >>> constraint.kind, dict(constraint.arguments)
    ('max_size', {'n': 10, 'rho': 0.5})
    >>> constraint == max_size(10, rho=0.5)
    True
    """

    kind: str
    arguments: tuple[tuple[str, Any], ...]
    from_prior: bool = field(default=False, compare=False)
    note: str = field(default="", compare=False)

    @property
    def needs_data(self) -> bool:
        """Whether its inequalities depend on the data of the fit."""
        return KINDS[self.kind].needs_data

    @property
    def rho(self) -> float | tuple[float, ...] | None:
        """The relaxation; None for kinds that derive it from data, and where there is a price."""
        return dict(self.arguments).get("rho")

    @property
    def price(self) -> float | tuple[float, ...] | None:
        """What one unit of violation costs, as a share of the models; None where rho tells how strict it is."""
        return dict(self.arguments).get("price")

    @property
    def strictness(self) -> Strictness:
        """In which way it is meant: hard, at a price, with a relaxation, or by the odds of correlations."""
        if self.price is not None:
            return PRICE
        return ODDS if self.rho is None else HARD if self.rho == math.inf else RHO

    def strictness_in_words(self, n_models: int | None = None) -> str:
        """Return how strictly it is meant; a price is in votes if the number of models is known.

        >>> from ubayfs import max_size
        >>> max_size(10).strictness_in_words(), max_size(10, price=0.2).strictness_in_words(100)
        ('hard', 'one violation costs 20 of 100 votes')
        """
        return strictness_in_words(self.strictness, self.rho if self.price is None else self.price, n_models)

    @property
    def sentence(self) -> str:
        """What it asks for in plain words.

        >>> from ubayfs import cannot_link
        >>> cannot_link(["mean", "worst"], on="blocks").sentence
        'At most one of the blocks mean and worst'
        """
        kind, arguments = KINDS[self.kind], dict(self.arguments)
        if callable(kind.sentence):
            return kind.sentence(arguments)
        if kind.sentence:
            return kind.sentence.format(**values_in_words(arguments))
        listed = [f"{name} {shown(value)}" for name, value in arguments.items() if name not in ("rho", "price")]
        return f"{kind.meaning}: {', '.join(listed)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the constraint in plain types: kind and arguments; long matrices are abbreviated."""
        return {
            "kind": self.kind,
            "arguments": {name: plain_argument(value) for name, value in self.arguments},
            **({"from_prior": True} if self.from_prior else {}),
            **({"note": self.note} if self.note else {}),
        }

    def __repr__(self) -> str:
        kind = KINDS[self.kind]
        listed = [
            shown(value) if name in kind.required else f"{name}={shown(value)}"
            for name, value in self.arguments
            if value != kind.parameters[name].default
        ]
        return f"{self.kind}({', '.join(listed)})"

    __str__ = __repr__


@dataclass(frozen=True, eq=False)
class Inequalities:
    """What one constraint means: a^T z <= b with relaxation rho, on features or on blocks."""

    A: sparse.csr_array  # (n_inequalities, n_features), or (n_inequalities, n_blocks) when `on_blocks`
    b: Floats  # (n_inequalities,)
    rho: Floats  # (n_inequalities,); NaN where a price is given instead, until there are votes to measure it by
    # Number of an inequality -> words; called only for those that are shown, there may be a million.
    label: Callable[[int], str]
    title: str = ""  # all of them in a few words, such as "must-link radius, area, perimeter"
    on_blocks: bool = False


@dataclass(frozen=True, eq=False)
class Context:
    """What names in constraints refer to."""

    index: FeatureIndex
    blocks: Blocks
    X: Any = None  # the data of the fit; only correlations need it

    @cached_property
    def membership(self) -> sparse.csr_array:
        """Members of each block, a csr_array of bool of shape (n_blocks, n_features)."""
        return self.blocks.matrix(self.index)

    def names(self, on: str) -> Any:
        """Return the names of all features or all blocks."""
        return self.blocks.names if on == "blocks" else self.index.names

    def require_blocks(self, kind: str) -> None:
        """Raise unless there are blocks."""
        if not len(self.blocks):
            rule = "is about blocks, but none were given; pass blocks=, a mapping of names to features."
            raise ConstraintError(f"{kind} {rule}", argument="blocks", rule=rule)

    def positions(self, items: Any, on: str, kind: str, argument: str = "features") -> Ints:
        """Return the positions of features or blocks that an argument of a constraint gives by name or position."""
        if on == "blocks":
            self.require_blocks(kind)
        try:
            return self.index.positions(items, kind, ConstraintError) if on == "features" else self._blocks(items, kind)
        except ConstraintError as error:
            error.argument = argument
            raise

    def _blocks(self, items: Any, kind: str) -> Ints:
        positions = np.array([self.blocks.position(item, kind) for item in items], dtype=np.intp)
        if len(np.unique(positions)) < len(positions):
            raise ConstraintError.of(
                kind, f"names a block more than once: {names_at(self.blocks.names, positions)}.", items
            )
        return positions

    def values(self, kind: str) -> Array:
        """Return the data of the fit as a matrix whose columns are the features."""
        if self.X is None:
            raise ConstraintError(f"{kind} needs the data: call decide(..., X=X).", argument="X")
        return FeatureData.from_fit(self.X, self.index.names).X


@dataclass(frozen=True)
class Kind:
    """A kind of constraint: its builder, what it means, and in words."""

    build: Callable[..., Constraint]  # takes what the user gives
    inequalities: Callable[..., Inequalities]  # takes a Context and the checked arguments
    needs_data: bool = False  # whether the inequalities depend on the data, not on names alone
    sentence: Sentence = ""

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Parameters of the builder by name."""
        return dict(inspect.signature(self.build).parameters)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters without a default."""
        return tuple(name for name, parameter in self.parameters.items() if parameter.default is parameter.empty)

    @cached_property
    def items(self) -> frozenset[str]:
        """Names of the parameters that list features or blocks: those annotated as `Items`."""
        hints = get_type_hints(self.build, include_extras=True)
        return frozenset(name for name, hint in hints.items() if hint == Items)

    @property
    def meaning(self) -> str:
        """What it asks for: the docstring of the builder, up to the first colon or line break."""
        text = (self.build.__doc__ or "").partition("\n")[0].partition(":")[0]
        return text.rstrip(".").replace("`", "")

    @cached_property
    def examples(self) -> dict[str, Any]:
        """Valid values of parameters by name, as far as their annotations have them; a number may be 0."""
        hints = get_type_hints(self.build, include_extras=True)
        annotated = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
        return annotated | {name: hint() for name, hint in hints.items() if hint in (int, float)}


# Filled by `builder`, in the order in which the kinds are defined.
KINDS: dict[str, Kind] = {}


def builder(
    inequalities: Callable[..., Inequalities], sentence: Sentence = "", *, needs_data: bool = False
) -> Callable[[Callable[P, dict[str, Any]]], Callable[P, Constraint]]:
    """Make a builder of a function that checks arguments, and register it under its name.

    `inequalities` is what the kind means: ``(context, **checked arguments) -> Inequalities``; it may ask the context
    for the data of the fit if the kind needs them. `sentence` says it in plain words. Parameters that most kinds share
    are added to the docstring, unless it describes them.
    """

    def decorate(check: Callable[P, dict[str, Any]]) -> Callable[P, Constraint]:
        kind, signature = check.__name__, inspect.signature(check)
        check.__doc__ = with_shared_parameters(check.__doc__, signature.parameters)

        @wraps(check)
        def build(*args: P.args, **kwargs: P.kwargs) -> Constraint:
            try:
                if kwargs.get("price") is not None and "rho" in kwargs:
                    rule = "cannot be given together with rho: both say how strict the constraint is. Give one of them."
                    raise ConstraintError.of("price", rule, kwargs["price"])
                return Constraint(kind, tuple(check(*args, **kwargs).items()))
            except InputError as error:
                refusal = ConstraintError(
                    f"{kind}: {error}", argument=error.argument, value=error.value, rule=error.rule
                )
                refusal.against = getattr(error, "against", None)
                raise refusal from None

        build.__signature__ = signature.replace(return_annotation="Constraint")  # type: ignore[attr-defined]
        KINDS[kind] = Kind(by_name()(build), inequalities, needs_data, sentence)
        return KINDS[kind].build

    return decorate


def as_constraints(constraints: Any) -> tuple[Constraint, ...]:
    """Return one or several constraints as a tuple; anything else is an error."""
    if isinstance(constraints, Constraint):
        return (constraints,)
    entries = entries_of("constraints", constraints, ConstraintError)
    items = [constraints] if entries is None else entries
    for item in items:
        if not isinstance(item, Constraint):
            rule = f"must be made by builders such as max_size(10) or must_link(['a', 'b']); got {repr_of(item)}."
            way_out = "" if constraints is not None else " An empty list means none."
            raise ConstraintError.of("constraints", f"{rule}{way_out}", item)
    return tuple(items)


def label_of(kind: str) -> str:
    """Return the name of a kind as labels have it, such as ``must-link``."""
    return kind.replace("_", "-")


# -- what kinds share --------------------------------------------------------------------------------------------------
# Labels are partials of a plain function rather than closures, so that systems, and all that holds one, can be pickled.


def names_at(names: Any, positions: Ints) -> str:
    """Return the first few names at some positions."""
    return listed([names[int(i)] for i in positions[:_LISTED]], _LISTED, len(positions))


def with_names(text: str, names: Any, positions: Sequence[Ints], number: int) -> str:
    """Label of an inequality: a text, filled in with the name at each of its positions."""
    return text.format(*(names[int(place[number])] for place in positions)) if positions else text


def inequalities(
    A: sparse.csr_array, b: Any, rho: Any, label: Callable[[int], str] | str, title: str = "", on: str = "features"
) -> Inequalities:
    """Make Inequalities; `b` and `rho` may be one number for all, `label` one text for one."""
    bound, relaxation = (np.array(np.broadcast_to(np.asarray(v, dtype=np.float64), A.shape[0])) for v in (b, rho))
    label_of = partial(with_names, label, (), ()) if isinstance(label, str) else label
    title = title or (label if isinstance(label, str) else "")
    return Inequalities(A, bound, relaxation, label_of, title, on_blocks=on == "blocks")


def one_row(positions: Any, coefficient: Any, n_columns: int) -> sparse.csr_array:
    """Return a matrix of one row with coefficients at some positions."""
    data = np.broadcast_to(np.asarray(coefficient, dtype=np.float64), len(positions))
    return sparse.csr_array((data, positions, [0, len(positions)]), shape=(1, n_columns))


def rows_at(positions: Sequence[Ints], coefficients: Sequence[float], n_columns: int) -> sparse.csr_array:
    """Return rows with the first coefficient at the first position of each, the second at the second, ..."""
    columns, n_rows = np.column_stack(positions).ravel(), len(positions[0])
    starts = np.arange(0, len(columns) + 1, len(positions))
    return sparse.csr_array((np.tile(coefficients, n_rows), columns, starts), shape=(n_rows, n_columns))
