"""Sentences of trust: the three facts that a report begins with, and the sections that go into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plain import counted, listing, rounded

Facts = Mapping[str, Any]

_LISTED = 12
_QUESTIONS = {
    "validation": "Does it predict?",
    "noise": "How many are noise?",
    "reproducibility": "Would another study choose them again?",
}
_UNDEFINED = {
    "importances": "Has no answer here: importances were given, there was no ensemble that could be repeated.",
    "votes": "Has no answer here: the votes were made elsewhere, so that they cannot be repeated on other samples.",
    "unsupervised": "Has no meaning here: there is no target that the features could be related to.",
    "empty": "Has no answer here: no feature was chosen.",
}
# What finds out a missing fact: on the command line, and in Python.
_COMMANDS = {
    "validation": ("ubayfs trust {} --level full", "ubayfs.validate(X, y, ...)"),
    "noise": ("ubayfs trust {} --level quick", "ubayfs.estimate_noise(X, y, ...)"),
    "reproducibility": ("ubayfs trust {} --level quick", "ubayfs.reproduce(X, y, ...)"),
}
_UNITS = {"validation": "fold", "noise": "shuffle", "reproducibility": "split"}
# Names of metrics for people, and what their numbers mean.
METRICS = {
    "auc": ("AUC", "0.5 is guessing, 1 is perfect"),
    "balanced_accuracy": ("balanced accuracy", "1 is perfect"),
    "r2": ("R2", "0 is no better than the mean, 1 is perfect"),
    "mean_absolute_error": ("mean absolute error", "0 is perfect"),
    "c_index": ("C-index", "0.5 is guessing, 1 is perfect"),
}


def three_facts(trust: Facts) -> list[dict[str, Any]]:
    """Return question, answer in a word or two, sentences, and the command that finds out what is not known."""
    told = {"validation": _prediction, "noise": _noise, "reproducibility": _again}
    facts = []
    for part, question in _QUESTIONS.items():
        found, command = trust[part], ""
        if found["state"] == "undefined":
            value, sentences = "", [_UNDEFINED[found["reason"]]]
        elif found["state"] == "missing":
            value, sentences = "", ["Not examined yet. This finds it out:"]
            on_command_line, in_python = _COMMANDS[part]
            result = trust["result"]
            command = in_python if result is None else on_command_line.format(_quoted(result))
        else:
            value, sentences = told[part](found, trust["n_chosen"])
            sentences += _rests_on(part, found)
        facts.append(
            {"fact": part, "state": found["state"], "question": question, "value": value, "sentences": sentences,
             "command": command}
        )  # fmt: skip
    return facts


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _rests_on(part: str, found: Facts) -> list[str]:
    if found["state"] != "partial":
        return []
    why = f" The others could not be used: {found['failures'][0]}" if found["failures"] else ""
    return [f"This rests on {found['n_done']} of {counted(found['n_asked'], _UNITS[part])}.{why}"]


def _prediction(found: Facts, n_chosen: int) -> tuple[str, list[str]]:
    name, meaning = METRICS.get(found["metric"], (found["metric"], "more is better"))
    if found["mean"] is None:
        return "", ["No fold could be scored."]
    sentence = f"On samples not used for choosing: {name} {_score(found['mean'])}{_interval(found)} ({meaning})."
    return f"{name} {_score(found['mean'])}", [sentence, *_closest(found)]


def _score(value: float, sign: str = "") -> str:
    """Return a score with two decimals, a small difference with three.

    >>> _score(0.9487), _score(0.0061, "+")
    ('0.95', '+0.006')
    """
    return f"{value:{sign}.{3 if sign and abs(value) < 0.0095 else 2}f}"


def _interval(found: Facts, key: str = "", sign: str = "") -> str:
    low, high = found[f"{key}lower"], found[f"{key}upper"]
    return "" if low is None or high is None else f" ({_score(low, sign)} to {_score(high, sign)})"


def _closest(found: Facts) -> list[str]:
    """Return how ours compares with the baseline that comes closest to it, or beats it."""
    others = [row for row in found["scores"] if row["metric"] == found["metric"] and row["difference"] is not None]
    if not others:
        return []
    best = min(others, key=lambda row: row["difference"])
    return [f"{compared(best)[0].upper()}{compared(best)[1:]}."]


def compared(row: Facts) -> str:
    """Return in words how ours compares with one baseline."""
    difference, low, high = (row[key] for key in ("difference", "difference_lower", "difference_upper"))
    numbers = f"({_score(difference, '+')}{'' if low is None else f', {_score(low, "+")} to {_score(high, "+")}'})"
    if low is not None and low > 0:
        return f"better than {method_name(row)} {numbers}"
    if high is not None and high < 0:
        return f"worse than {method_name(row)} {numbers}"
    return f"no clear difference from {method_name(row)} {numbers}"


_METHODS = {
    "ubayfs": "this procedure",
    "without knowledge": "the same without weights and constraints",
    "random": "random sets of the same size",
    "forest": "the features of a random forest",
    "all": "all features together",
}


def method_name(row: Facts) -> str:
    """Return what a method of the comparison is called."""
    return _METHODS.get(row["method"], row["method"])


def _noise(found: Facts, n_chosen: int) -> tuple[str, list[str]]:
    n, filled = found["n_data"], found["filled"]
    these = f"these {n}" if not filled else f"the {n} that the data chose"
    apart = []
    if filled:
        are = "is" if len(filled) == 1 else "are"
        apart.append(
            f"{listing(filled, _LISTED)} {are} in the set because of weights or constraints, not because of votes, and "
            f"{are} not counted here."
        )
    if n == 0:
        return "none by data", ["No chosen feature is there because of the data.", *apart]
    expected, cautious = round(found["expected"]), round(found["cautious"])
    if not found["passes"]:
        p = rounded(found["p_value"], 2)
        return f"perhaps all {n}" if n > 1 else "perhaps all", [
            f"Shuffled targets look the same (p = {p}); all may be noise.", *apart
        ]  # fmt: skip
    about = "hardly any" if expected == 0 else f"about {expected}"
    careful = f" (cautiously up to {cautious})" if cautious > expected else ""
    return f"{about} of {n}", [
        f"Shuffled targets give features with this many votes, too: {about}{careful} of {these} are expected to be "
        "unrelated to the target.",
        *apart,
    ]


def supported(found: Facts, n_chosen: int) -> str:
    """Return how many features the data support, and what that means for the set."""
    inside = found["n_supported_chosen"]
    places = n_chosen - inside
    first = f"The data support {counted(found['supported'], 'feature')}"
    among = "" if inside == found["supported"] else f", {inside} of which are in the set"
    if not places:
        return f"{first}{among}."
    rest = f"the other {counted(places, 'place is', 'places are')} filled" if inside else "all places are filled"
    return f"{first}{among}; {rest}."


def _again(found: Facts, n_chosen: int) -> tuple[str, list[str]]:
    k, bounds = found["size"], found["chosen_again"]
    if None in bounds:
        return "", ["No pair of halves could be compared."]
    low, high = sorted(map(round, bounds))
    about = f"{low} to {high}" if low != high else "none" if high == 0 else f"{high}"
    words = "hardly any" if high == 0 else f"about {about}"
    return f"{about} of {k}", [f"In a new study of this size, {words} of these {k} would be chosen again."]
