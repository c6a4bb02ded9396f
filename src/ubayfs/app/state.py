"""What an open study is at one moment: the study itself, rules that are switched off, and what no study file has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

from .._arguments import as_time, check_bool
from .._problems import below, check_keys, raise_problem
from ..constraints import KINDS, Constraint
from ..exceptions import InputError, repr_of
from ..knowledge.scale import Stated, as_stated, check_weight
from ..priors.weights import Expert, Weights
from ..study.components import texts
from ..study.constraint_terms import arguments_of, plain_constraint, read_constraints
from ..study.former_versions import (
    FORMER_DEFAULTS,
    RHO,
    constraint_with_rho,
    present_default,
    with_former_defaults,
    with_present_defaults,
)
from ..study.schema import SECTIONS
from ..study.study import Study, study_of
from .history import now

# Files and folders in the directory of a study.
STUDY, APP, HISTORY = "study.yaml", "app.json", "history.jsonl"
VERSIONS, VERSION, EXPORTS = "versions", "version.json", "exports"

# Votes or a word (None: nothing is stated any more), and why (None: as it is).
Word = tuple[Stated | None, str | None]


def _check_text(argument: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InputError.of(argument, f"must be a text; got {repr_of(value)}.", value)


def slug(name: str) -> str:
    """Return the name of a study as a part of names of files.

    >>> slug("Tumour <München>"), slug("../")
    ('tumour-munchen', 'study')
    """
    bare = normalize("NFKD", name).encode("ascii", "ignore").decode()  # letters without their accents
    return re.sub(r"[^A-Za-z0-9]+", "-", bare).strip("-").lower()[:40] or "study"


@dataclass(frozen=True)
class Rule:
    """A constraint that can be switched off.

    Attributes
    ----------
    constraint : Constraint
        Also given as a study file has it, such as ``{"max_size": 10}``.
    on : bool
    why : str
    """

    constraint: Constraint
    on: bool = True
    why: str = ""

    def __post_init__(self) -> None:
        check_bool("on", self.on)
        _check_text("why", self.why)
        (constraint,) = read_constraints([self.constraint], lambda path, message: raise_problem(path[1:], message))
        object.__setattr__(self, "constraint", constraint)

    def to_plain(self) -> dict[str, Any]:
        """Return the rule in plain types."""
        constraint = constraint_with_rho(plain_constraint(self.constraint), present_default(RHO))
        return {"constraint": constraint, "on": self.on, "why": self.why}


@dataclass(frozen=True)
class State:
    """An open study at one moment; edits return another one.

    Attributes
    ----------
    name : str
    study : Study
        Its constraints are those of the rules that are on, in their order.
    rules : tuple of Rule
    confirmed : mapping of str to str
        ISO time at which each expert confirmed what they know; before, votes are hidden from them. The name is empty
        for the one expert of a study.
    corrected : tuple of str
        Keys of ``data``, ``selector`` and ``constraints``, if a person has set them: no guess replaces them.
    """

    name: str
    study: Study
    rules: tuple[Rule, ...] = ()
    confirmed: Mapping[str, str] = field(default_factory=dict)
    corrected: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_text("name", self.name)
        on = tuple(rule.constraint for rule in self.rules if rule.on)
        study, prior = self.study, _with_times(self.study.prior, self.confirmed)
        if on != study.constraints or study.origin is not None or prior != study.prior:
            object.__setattr__(self, "study", replace(study, constraints=on, origin=None, prior=prior))

    @classmethod
    def of(cls, name: str, study: Study, corrected: Iterable[str] = ()) -> State:
        """Return the state of a study that is opened for the first time."""
        experts = study.prior.experts or {}
        times = {"": study.prior.confirmed, **{expert: statement.confirmed for expert, statement in experts.items()}}
        confirmed = {expert: time for expert, time in times.items() if time is not None}
        return cls(name, study, tuple(map(Rule, study.constraints)), confirmed, tuple(corrected))

    def to_plain(self) -> dict[str, Any]:
        """Return the state in plain types; the constraints are below ``rules``, the times below ``confirmed``.

        Defaults that have changed are stated: what lacks them was written by an earlier version.
        """
        study = {key: part for key, part in self.study.to_dict().items() if key not in ("constraints", "versions")}
        prior = {key: value for key, value in study.get("prior", {}).items() if key != "confirmed"}
        # Always there, so that edits of two experts differ in places of their own.
        experts = {
            name: {key: value for key, value in stated.items() if key != "confirmed"}
            for name, stated in prior.get("experts", {}).items()
        }
        prior["experts"] = {name: stated for name, stated in experts.items() if stated}
        prior.setdefault("changed_after_votes", {})
        rules = [rule.to_plain() for rule in self.rules]
        more = {"confirmed": dict(self.confirmed), "corrected": list(self.corrected)}
        study = with_present_defaults({**study, "prior": prior}, (0, 2))
        return {"name": self.name, "study": study, "rules": rules, **more}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], folder: Path) -> State:
        """Return the state that :meth:`to_plain` gave; paths of its study start at a folder."""
        former = FORMER_DEFAULTS[RHO].former
        rules = tuple(
            Rule(**{**rule, "constraint": constraint_with_rho(rule["constraint"], former)}) for rule in plain["rules"]
        )
        times = plain["confirmed"] or {}
        times = {"": times} if isinstance(times, str) else dict(times)  # one time in logs of version 0.1
        confirmed = {str(name): as_time("confirmed", when) for name, when in times.items()}
        corrected = texts("corrected", plain.get("corrected", ()))
        study = study_of(with_former_defaults(plain["study"], (0, 2)), folder)
        return cls(plain["name"], study, rules, confirmed, corrected)

    # -- edits ---------------------------------------------------------------------------------------------------------

    def with_section(self, key: str, values: Mapping[str, Any]) -> State:
        """Return the state with other values of keys of a section; None is the default."""
        section = getattr(self.study, key)
        checked = check_keys(values, SECTIONS[key].keys(), f"a key of {key}", below(raise_problem, key))
        defaults = {name: SECTIONS[key].defaults()[name] for name, value in checked.items() if value is None}
        return self.with_study(**{key: replace(section, **checked | defaults)})

    def with_study(self, **parts: Any) -> State:
        """Return the state with other parts of the study, such as its blocks."""
        return replace(self, study=replace(self.study, **parts))

    def corrected_by(self, key: str, values: Mapping[str, Any]) -> State:
        """Return the state with other values of keys of a section that a person has set."""
        guessed = [name for name in values if key == "data" or name == "selector"]
        keys = dict.fromkeys([*self.corrected, *guessed])
        if key == "data" and values.get("path") == "":  # what comes next are other data
            keys = {name: None for name in keys if name == "constraints"}
        return replace(self.with_section(key, values), corrected=tuple(keys))

    def with_words(
        self, words: Mapping[str, Word], feature_names: Sequence[str] | None = None, expert: str = ""
    ) -> State:
        """Return the state with other words of an expert on some features; after votes were seen, with the time.

        `feature_names` are needed only if the study has one weight per feature, in their order.
        """
        weights = self.weights(feature_names, expert)
        features, reasons = dict(weights.features), {name: dict(texts) for name, texts in weights.reasons}
        for name, (stated, why) in words.items():
            if stated is None:
                features.pop(name, None)
                reasons.pop(name, None)
            else:
                features[name] = as_stated(stated)
            if why is not None:
                _check_text("why", why)
                reasons[name] = reasons.get(name, {}) | {"why": why.strip()}
        texts = {name: tuple(item for item in entries.items() if item[1]) for name, entries in reasons.items()}
        stated_why = tuple(item for item in texts.items() if item[1])
        state = self._with_weights(replace(weights, features=tuple(features.items()), reasons=stated_why), expert)
        before = dict(weights.features)
        changed = {name: now() for name in words if before.get(name) != features.get(name)}
        if expert not in self.confirmed or not changed:
            return state
        prior = state.study.prior
        return state.with_study(
            prior=replace(prior, changed_after_votes={**(prior.changed_after_votes or {}), **changed})
        )

    def weights(self, feature_names: Sequence[str] | None = None, expert: str = "") -> Weights:
        """Return what an expert stated."""
        if expert:
            return (self.study.prior.experts or {}).get(expert, Expert()).weights
        weights: Weights | tuple[float, ...] = self.study.prior.weights
        if isinstance(weights, tuple):
            if feature_names is None or len(feature_names) != len(weights):
                rule = "are one number per feature here; words can be given once the data are read and fit them."
                raise InputError.of("weights", rule)
            return Weights(features=tuple(zip(feature_names, weights, strict=True)))
        return weights

    @property
    def named_weights(self) -> dict[str, Weights]:
        """What each expert stated, as far as it is by name."""
        prior = self.study.prior
        stated = {"": prior.weights, **{name: expert.weights for name, expert in (prior.experts or {}).items()}}
        return {name: weights for name, weights in stated.items() if isinstance(weights, Weights)}

    def _with_weights(self, weights: Weights, expert: str) -> State:
        prior = self.study.prior
        if not expert:
            return self.with_study(prior=replace(prior, weights=weights))
        stated = replace((prior.experts or {}).get(expert, Expert()), weights=weights)
        return self.with_study(prior=replace(prior, experts={**(prior.experts or {}), expert: stated}))

    def stated_by(self, name: str) -> State:
        """Return the state in which what the one expert stated has a name; as it is if there are names already."""
        prior = self.study.prior
        if prior.experts or isinstance(prior.weights, tuple) or prior.weights == Weights(prior.weights.default):
            return self
        weights, rest = replace(prior.weights, default=Weights().default), Weights(prior.weights.default)
        return self.with_study(prior=replace(prior, weights=rest, experts={name: Expert(weights)}))

    def with_default(self, weight: float) -> State:
        """Return the state with another weight of features of which nothing is stated, by any expert."""
        return self._with_weights(replace(self.weights(), default=check_weight("default", weight)), "")

    def with_rule(self, position: int, **changes: Any) -> State:
        """Return the state with another constraint, on or why of a rule."""
        changed = {name: value for name, value in changes.items() if value is not None}
        return self._with_rules(position, replace(self._rule(position), **changed))

    def with_new_rule(self, rule: Rule) -> State:
        """Return the state with one more rule."""
        return self._with_rules(len(self.rules), rule)

    def without_rule(self, position: int) -> State:
        """Return the state without a rule."""
        self._rule(position)
        return self._with_rules(position)

    def with_size(self, n: int) -> State:
        """Return the state with another most number of features: of its first rule on that, or of a new hard one."""
        kind = KINDS["max_size"]
        for position, rule in enumerate(self.rules):
            if rule.constraint.kind == "max_size":
                made = kind.build(**arguments_of(rule.constraint) | {"n": n})
                return self.with_rule(position, constraint=made, on=True)
        return self.with_new_rule(Rule(kind.build(n=n)))

    def _rule(self, position: int) -> Rule:
        if not 0 <= position < len(self.rules):
            raise InputError.of("rule", f"{position} does not exist any more; there are {len(self.rules)}.", position)
        return self.rules[position]

    def _with_rules(self, position: int, *instead: Rule) -> State:
        rules = (*self.rules[:position], *instead, *self.rules[position + 1 :])
        if rules == self.rules:
            return self
        return replace(self, rules=rules, corrected=tuple(dict.fromkeys([*self.corrected, "constraints"])))


def _with_times(prior: Any, times: Mapping[str, str]) -> Any:
    """Return the section ``prior`` with the times at which experts confirmed what they know."""
    experts = {name: Expert() for name in times if name} | (prior.experts or {})
    experts = {name: replace(expert, confirmed=times.get(name)) for name, expert in experts.items()}
    return replace(prior, confirmed=times.get(""), experts=experts or None)
