"""A study as a Python script: real calls of the public functions that repeat its answer, without a study file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isinf
from typing import Any

from .. import __version__
from .._plain import HARD
from ..constraints import Constraint
from ..data.blocks import Blocks
from ..exceptions import InputError
from ..knowledge.scale import DEFAULT_WEIGHT
from ..priors.knowledge import LEARNED
from ..priors.weights import Weights
from .components import FAMILIES, Named, Section, thawed
from .constraint_terms import plain_constraint
from .resolve import ResolvedStudy
from .schema import PrefixBlocks

_WIDTH = 100
_MANY = 10  # features that are listed with one number
_MODULES = {"selector": "ubayfs.selectors", "prior": "ubayfs", "optimizer": "ubayfs"}
# Arguments of collect_evidence() and decide() that the script does not take from a section as they are.
_APART = ("selector", "n_features_per_model", "n_jobs", "optimizer")


def script_of(study: ResolvedStudy, features: Sequence[str], n_features_per_model: int | str | None = None) -> str:
    """Return a Python script that repeats a decision.

    Parameters
    ----------
    study : ResolvedStudy
        As it was used; paths of its data are relative to the script.
    features : sequence of str
        What was selected: the script says if it selects another set.
    n_features_per_model : int or "random", optional
        What the ensemble took where the study left it open.

    Raises
    ------
    InputError
        If no public function does what the study asks for.
    """
    standalone = study.standalone
    if study.study.cohorts is not None:
        rule = "have no script: each site keeps its data. Hand over the directories that the sites sent, and the study."
        raise InputError.of("cohorts", rule)
    if not standalone.data.files or not all(standalone.data.files):
        raise InputError.of("data", "has no file, so that a script could not read it.")
    parts = [
        _head(standalone.title),
        _call("data = ubayfs.read_data", _data_arguments(standalone.data)),
        _call("evidence = ubayfs.collect_evidence", _ensemble_arguments(study, n_features_per_model)),
        *_decision(study),
        f"expected = {_shown(list(features), 11)}",
        _TAIL,
    ]
    return "\n\n".join(parts)


_TAIL = """\
if list(selection.features) != expected:
    raise SystemExit(f"Another set than before: {', '.join(selection.features)}")
print(*selection.features, sep="\\n")
"""


def _head(title: str | None) -> str:
    of = f" of the study {title!r}" if title else ""
    rule = f"Repeats the selection of features{of}. Made for ubayfs {__version__}; the data are beside this file."
    text = "\n".join(textwrap.wrap(rule.replace("\\", "/").replace('"', "'"), _WIDTH - 4))
    return f'"""{text}"""\n\nfrom pathlib import Path\n\nimport ubayfs\n\nHERE = Path(__file__).parent'


class _Code(str):
    """Text that is code already."""


def _shown(value: Any, before: int = 0) -> str:
    """Return a value as code, in lines of at most `_WIDTH` characters; `before` are those in front of the first one."""
    if isinstance(value, _Code):
        return value
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and isinf(value):
        return f'float("{value}")'
    if isinstance(value, dict):
        return _bracketed("{", _entries(value), "}", before)
    if isinstance(value, list):
        return _bracketed("[", [_shown(entry, 4) for entry in value], "]", before, packed=True)
    return f"({', '.join(map(_shown, value))},)" if isinstance(value, tuple) else repr(value)


def _entries(value: Mapping[Any, Any]) -> list[str]:
    """Return the entries of a mapping as code; of many keys with the same number, all at once."""
    keys_of: dict[float, list[Any]] = {}
    for key, entry in value.items():
        if isinstance(entry, int | float):
            keys_of.setdefault(entry, []).append(key)
    many = {entry: keys for entry, keys in keys_of.items() if len(keys) > _MANY}
    single = {key: entry for key, entry in value.items() if not (isinstance(entry, int | float) and entry in many)}
    together = (f"**dict.fromkeys({_shown(keys, 45)}, {_shown(entry)})" for entry, keys in many.items())
    return [*(f"{_shown(key)}: {_shown(entry, len(_shown(key)) + 6)}" for key, entry in single.items()), *together]


def _bracketed(start: str, entries: list[str], end: str, before: int = 0, packed: bool = False) -> str:
    """Return entries in brackets: on one line, else one on each, or `packed`: as many as there is room for."""
    line = f"{start}{', '.join(entries)}{end}"
    single = not any("\n" in entry for entry in entries)
    if single and before + len(line) <= _WIDTH:
        return line
    lines: list[str] = []
    for entry in entries:
        if packed and single and lines and len(lines[-1]) + len(entry) + 20 <= _WIDTH:
            lines[-1] += f" {entry},"
        else:
            lines.append(f"{entry},")
    inner = "\n".join(lines).replace("\n", "\n    ")
    return f"{start}\n    {inner}\n{end}"


def _call(function: str, arguments: Mapping[str, Any]) -> str:
    """Return a call; arguments whose names begin with an underscore are given by position."""
    names = ["" if name[0] == "_" else f"{name}=" for name in arguments]
    shown = [name + _shown(value, len(name) + 5) for name, value in zip(names, arguments.values(), strict=True)]
    return _bracketed(f"{function}(", shown, ")")


def _component(family: str, choice: Any) -> Any:
    """Return a selector, prior or optimizer as the functions take it: by name, or with its settings."""
    if isinstance(choice, tuple):
        return [_component(family, entry) for entry in choice]
    if not isinstance(choice, Named):
        return choice
    kind = FAMILIES[family].types[choice.name].__name__
    settings = {name: thawed(value) for name, value in choice.settings}
    return _Code(_call(f"{_MODULES[family]}.{kind}", settings))


def _stated(section: Section) -> dict[str, Any]:
    """Return the arguments in which a section differs from its defaults, and those that a reader asks first."""
    written, defaults = section.plain(), section.defaults()
    arguments = section.arguments()
    keys = {name: key.argument or name for name, key in section.keys().items()}
    return {
        argument: arguments[argument]
        for name, argument in keys.items()
        if name in written and (arguments[argument] != defaults[name] or argument == "random_state")
    }


# -- data and ensemble -------------------------------------------------------------------------------------------------


def _data_arguments(section: Section) -> dict[str, Any]:
    arguments = {name: list(v) if isinstance(v, tuple) else v for name, v in section.plain().items()}
    path, samples = arguments.pop("path"), arguments.get("samples")
    arguments = {"_path": _located(path), **arguments}
    return arguments if samples is None else {**arguments, "samples": _located(samples)}


def _located(path: Any) -> Any:
    if isinstance(path, dict):
        return {block: _located(file) for block, file in path.items()}
    return _Code(f"HERE / {_shown(path)}")


def _ensemble_arguments(study: ResolvedStudy, n_features_per_model: int | str | None) -> dict[str, Any]:
    section = study.study.evidence
    more = {name: value for name, value in _stated(section).items() if name not in _APART}
    arguments = {"selector": _component("selector", section.selector), "n_models": section.n_models}
    per_model = n_features_per_model or study.features_per_model
    return {"_data": _Code("data"), **arguments, "n_features_per_model": per_model, **more}


# -- the decision ------------------------------------------------------------------------------------------------------


def _decision(study: ResolvedStudy) -> list[str]:
    """Return the code of knowledge, blocks, constraints and the decision."""
    section, standalone = study.study.decision, study.standalone
    weights, exclusions = _weights(study)
    stated = [constraint for constraint in study.decision.constraints if not constraint.from_prior]
    constraints = [_constraint(constraint) for constraint in (*stated, *exclusions)]
    blocks = _blocks(study) if _needs_blocks(study) else None
    used = {"weights": weights, "blocks": blocks, "constraints": constraints or None}
    used = {name: value for name, value in used.items() if value is not None}
    code = [value if name == "blocks" else f"{name} = {_shown(value, len(name) + 3)}" for name, value in used.items()]
    arguments: dict[str, Any] = {"_evidence": _Code("evidence"), **{name: _Code(name) for name in used}}
    if (prior := standalone.prior).kind != "dirichlet":
        arguments["prior"] = _component("prior", prior.kind)
    if prior.trust_in_lists == LEARNED:
        arguments["trust_in_lists"] = LEARNED
    if section.optimizer != "exact":
        arguments["optimizer"] = _component("optimizer", section.optimizer)
    arguments |= {name: value for name, value in _stated(section).items() if name not in _APART}
    return [*code, _call("selection = ubayfs.decide", {**arguments, "X": _Code("data")})]


def _weights(study: ResolvedStudy) -> tuple[Any, list[Constraint]]:
    """Return the prior weights as code, and constraints on what is unlikely, where weights do not say it."""
    prior = study.standalone.prior
    if not isinstance(prior.weights, Weights):
        return list(prior.weights), []
    agreed = prior.weights.plain()
    if not prior.experts:
        return None if agreed == DEFAULT_WEIGHT else _statements(prior.weights), []
    if agreed == DEFAULT_WEIGHT:
        stated = {name: _statements(expert.weights) for name, expert in prior.experts.items()}
        pool = {} if prior.pool == "mean" else {"pool": prior.pool}
        return _Code(_call("ubayfs.pool_experts", {"_experts": stated, **pool})), []
    if prior.trust_in_lists == LEARNED:
        rule = "together with what all agree on has no script while trust_in_lists is 'learned'; use the study file."
        raise InputError.of("experts", rule)
    knowledge = study.prior
    votes = dict(zip(map(str, study.feature_names), knowledge.weights.tolist(), strict=True))
    features = tuple((name, weight) for name, weight in votes.items() if weight != knowledge.default)
    unlikely = [constraint for constraint in study.decision.constraints if constraint.from_prior]
    return _statements(Weights(knowledge.default, features=features)), unlikely


def _statements(weights: Weights) -> Any:
    """Return weights as decide() takes them; features of the same word are listed together."""
    words: dict[str, list[str]] = {}
    for name, stated in weights.features:
        if isinstance(stated, str):
            words.setdefault(stated, []).append(str(name))
    numbers = tuple((name, stated) for name, stated in weights.features if not isinstance(stated, str))
    plain = replace(weights, features=numbers, reasons=()).plain()
    return {**words, **plain} if isinstance(plain, dict) else _with_default(words, plain)


def _with_default(words: dict[str, list[str]], default: float) -> Any:
    if not words:
        return default
    return words if default == DEFAULT_WEIGHT else {"default": default, **words}


def _needs_blocks(study: ResolvedStudy) -> bool:
    """Return whether a constraint, a weight or the prior names blocks."""
    prior = study.standalone.prior
    stated = [prior.weights, *(expert.weights for expert in (prior.experts or {}).values())]
    named = any(getattr(weights, "blocks", ()) for weights in stated)
    on_blocks = any(
        constraint.kind == "max_blocks"
        or "blocks" in (arguments := dict(constraint.arguments))
        or arguments.get("on") == "blocks"
        for constraint in study.decision.constraints
    )
    return named or on_blocks or isinstance(prior.kind, Named)


def _blocks(study: ResolvedStudy) -> str | None:
    """Return the code that makes the blocks."""
    blocks, path = study.standalone.blocks, study.study.data.path
    if isinstance(blocks, PrefixBlocks):
        sign = _shown(blocks.prefix)
        return (
            f"prefixes = [name.partition({sign})[0] for name in data.feature_names if {sign} in name]\n"
            "blocks = {\n"
            f"    prefix: [name for name in data.feature_names if name.startswith(prefix + {sign})]\n"
            "    for prefix in dict.fromkeys(prefixes)\n"
            "    if prefix\n"
            "}"
        )
    members = Blocks.of(study.decision.blocks).members
    if isinstance(path, dict) and tuple(members) == tuple(path):  # the files are the blocks
        return "blocks = data.blocks"
    return f"blocks = {_shown({name: list(features) for name, features in members.items()}, 9)}" if members else None


def _constraint(constraint: Constraint) -> _Code:
    """Return the call of the builder of a constraint."""
    ((kind, value),) = plain_constraint(constraint).items()
    if not isinstance(value, dict):
        return _Code(_call(f"ubayfs.{kind}", {} if value is None else {"_value": value}))
    if "rho" in value:
        rho = value["rho"]
        value["rho"] = [_strict(entry) for entry in rho] if isinstance(rho, list) else _strict(rho)
    return _Code(_call(f"ubayfs.{kind}", value))


def _strict(rho: Any) -> Any:
    return float("inf") if rho == HARD else rho
