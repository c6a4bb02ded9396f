"""The screen *Rules*: what the set must look like, in sentences, with forms for every kind of constraint."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from markupsafe import Markup
from nicegui import run, ui

from ..._plain import counted, listing
from ...constraints import KINDS
from ...constraints.words import HARD, STRICTNESS
from ...data.blocks import Blocks
from ...ensemble.features_per_model import features_per_model
from ...exceptions import InputError
from ...knowledge.patterns import Names
from ...knowledge.scale import DEFAULT_WEIGHT, votes
from .. import forms
from ..forms import MUST, OWN, PRICE, Known
from ..matching import match
from ..penalty import Scale, in_words, penalty_svg
from ..sessions import ExpertSession
from ..state import Rule
from ..view.features import add_scripts
from ..view.fields import choice, drop_zone, entry, heading, panel, tick
from ..view.frame import address, button
from ..view.live import html, line, live, on
from ..view.names import names_field
from ..view.parts import text

_MEANING = {
    MUST: "It is never violated, whatever the votes are.",
    OWN: "The stronger the correlation of two features, the more votes it costs to select both.",
}
_PRICE = "Price in votes"


def known_names(bench: ExpertSession) -> Known:
    """Return the features and blocks that rules can be about."""
    facts = bench.facts
    if facts is None:
        return Known([])
    members: Any = {block: tuple(features) for block, features in facts.blocks.items() if features}
    return Known(facts.feature_names, Blocks(members) if members else None)


def scale_of(bench: ExpertSession) -> Scale:
    """Return what prices are measured by: the votes, or before there are any, those that the ensemble will cast."""
    study, facts = bench.state.study, bench.facts
    n_models, n_features = study.evidence.n_models, 40 if facts is None else facts.n_features
    per_model = study.evidence.n_features_per_model
    cast = float(n_models * (per_model if isinstance(per_model, int) else features_per_model(None, n_features)))
    voted, counts = bench.evidence.n_models, bench.votes
    if counts is not None and voted:
        n_models, cast = voted, float(counts.sum())
    weights = study.prior.weights
    default = getattr(weights, "default", DEFAULT_WEIGHT)
    stated = sum(votes(word, default, n_models) for _, word in getattr(weights, "features", ()))
    return Scale(n_models, cast + stated + default * n_features, study.decision.constraint_strength)


def draw_rules(bench: ExpertSession) -> None:
    """Draw the screen."""
    add_scripts()
    heading(
        "What must the set look like?",
        "A wish may be violated, at its price in votes. A must is never violated.",
    )
    with ui.element("div").classes("columns"):
        with ui.element("div"), panel("Your rules"):
            _rules(bench, lambda i: editor.edit(i))
        with ui.element("div"):
            editor = Editor(bench)


# -- the list ----------------------------------------------------------------------------------------------------------


def _rules(bench: ExpertSession, edit: Callable[[int], None]) -> None:
    remarks: list[ui.html] = []

    def remark() -> None:
        for i, place in enumerate(remarks[: len(bench.state.rules)]):
            place.set_content(_remark(bench, i))

    @live(bench, "state", of=lambda: bench.state.rules)
    def rules() -> None:
        if not bench.state.rules:
            none = "There are no rules: the best set would be all features. Add how many you want."
            line(none, "empty")
        with ui.element("ol").classes("rules"):
            remarks[:] = [_rule(bench, i, rule, edit) for i, rule in enumerate(bench.state.rules)]
        remark()

    on(bench, ("state", "conditions", "problems"), remark)


def _rule(bench: ExpertSession, i: int, rule: Rule, edit: Callable[[int], None]) -> ui.html:
    """Draw a rule; returns the place of what is found out about it."""
    says, n_rules, key, name = rule.constraint.sentence, len(bench.state.rules), f"rule-{i}", f"rule {i + 1}"

    def position() -> int:
        """Return its position, unless another window has added or removed rules since it was drawn."""
        if len(bench.state.rules) != n_rules:
            raise InputError("the rules were changed meanwhile. Check them and try again.")
        return i

    with ui.element("li").classes("" if rule.on else "off"):
        on_or_off = tick("", rule.on, lambda value: bench.change_rule(position(), on=value))
        _name(on_or_off, f"{key}-on", f"{name} is on: {says}")
        with ui.element("div"):
            html(text(f"{i + 1}. {says}"), tag="div").classes("says")
            remarks = html("", tag="div").classes("about").props("role=status")
        with ui.element("div").classes("row"):
            if forms.has_form(rule.constraint):
                _name(button("Change", lambda _: edit(position())), f"{key}-change", f"Change {name}")
            _name(button("Remove", lambda _: bench.remove_rule(position())), f"{key}-remove", f"Remove {name}")
        with ui.element("div").classes("row meant"):
            _strictness(bench, position, rule, key, name)
            why = entry(
                "Why", rule.why, lambda value: bench.change_rule(position(), why=value), draft=f"why {says}",
                classes="why",
            )  # fmt: skip
            _name(why, f"{key}-why", f"Why {name}")
    return remarks


def _remark(bench: ExpertSession, i: int) -> Markup:
    """Return how strictly a rule is meant, how many conditions it is made of, and what it contradicts."""
    rule = bench.state.rules[i]
    counts, place = bench.n_conditions, sum(other.on for other in bench.state.rules[:i])
    n = counts[place] if rule.on and place < len(counts) else 1
    strictness = rule.constraint.strictness_in_words(bench.state.study.evidence.n_models)
    meant = "must" if rule.constraint.strictness is HARD else f"wish: {strictness}"
    remark = text(meant if n == 1 else f"{meant}; {counted(n, 'condition')}")
    for problem in bench.problems:
        if i in problem.rules:
            others = [f"{other + 1}" for other in problem.rules if other != i]
            message = f"No set satisfies this together with rule {listing(others)}." if others else problem.message
            remark += Markup('<div class="contradicts">{}</div>').format(text(message))
    return remark


def _strictness(bench: ExpertSession, position: Callable[[], int], rule: Rule, key: str, name: str) -> None:
    """Draw wish or must, and the price."""
    values, n_models = forms.values_of(rule.constraint), bench.state.study.evidence.n_models
    now, price = values["strictness"], values[PRICE]

    def change(strictness: str, amount: Any) -> None:
        constraint = forms.with_strictness(bench.state.rules[position()].constraint, strictness, amount)
        bench.change_rule(position(), constraint=constraint)

    options = _options(rule.constraint.kind, now)
    meant = choice("Meant as", options, now, lambda strictness: change(strictness, values.get(strictness)))
    _name(meant, f"{key}-strictness", f"How strictly {name} is meant")
    if now == PRICE and not isinstance(price, tuple):
        amount = entry(
            _PRICE, forms.price_text(price, n_models), lambda votes: change(PRICE, forms.price_of(votes, n_models)),
            draft=f"{key}-price",
        )  # fmt: skip
        _name(amount, f"{key}-amount", f"{_PRICE}, of {name}")


def _options(kind: str, now: str) -> dict[str, str]:
    """Return how strictly a rule of a kind can be meant, with what a study file made it."""
    return {key: STRICTNESS[key].choice for key in dict.fromkeys([*forms.form_of(kind).strictness, now])}


def _name(control: Any, key: str, label: str) -> None:
    """Give a control a name of its own for screen readers, and a key by which it gets the focus back."""
    props = getattr(control, "box", control).props
    props["data-keep"], props["aria-label"] = key, label


# -- the form ----------------------------------------------------------------------------------------------------------


class Editor:
    """The form of one rule: a new one, or one that is changed. What is typed is no part of the study yet."""

    def __init__(self, bench: ExpertSession) -> None:
        self.bench = bench
        with panel("Add a rule", classes="tour-target"):
            order = sorted(KINDS, key=lambda kind: "n" not in KINDS[kind].parameters)  # sizes first
            self.kinds = choice("Kind of rule", {kind: KINDS[kind].meaning for kind in order}, "max_size", self.choose)
            _name(self.kinds, "rule-kind", "Kind of rule")
            self.place = ui.element("div").classes("stack")
        self.begin("max_size")

    def choose(self, kind: str) -> None:
        """Begin a new rule of a kind, unless it is begun."""
        if self.rule is not None or not self.fields or self.form.kind != kind:
            self.begin(kind)

    def edit(self, i: int) -> None:
        """Begin to change a rule."""
        rule = self.bench.state.rules[i]
        self.begin(rule.constraint.kind, rule)
        self.send.content = f"Change rule {i + 1}"
        ui.run_javascript(
            "document.querySelector('.form-start input, .form-start select, .form-start textarea')?.focus()"
        )

    def begin(self, kind: str, rule: Rule | None = None) -> None:
        """Draw the form of a rule that is changed, or an empty one for a new rule of a kind."""
        self.rule, self.form, self.fields = rule, forms.form_of(kind), {}
        self.values = dict(self.form.values) if rule is None else forms.values_of(rule.constraint)
        self.n_models = self.bench.state.study.evidence.n_models
        self.kinds.show(kind)
        self.place.clear()
        with self.place:
            with ui.element("div").classes("stack form-start").props(f"data-kind={kind}"):
                for field in self.form.fields:
                    self.fields[field.name] = self._field(field)
            strictness = self.values["strictness"]
            meant = choice("Meant as", _options(kind, strictness), strictness, self._meant)
            _name(meant, "form-strictness", "Meant as")
            self.amount = ui.element("div")
            self._meant(strictness)
            self.why = entry("Why", "" if rule is None else rule.why, draft=self._draft("why"))
            self.wrong = html("", tag="div").classes("field")
            with ui.element("div").classes("row"):
                self.send = button("Add this rule", self.save, classes="main").props("data-keep=rule-save")
                over = button("Start over", lambda _: self.begin(kind))
            for each in (self.send, over):  # what is typed from now on is for the next rule
                each.on("click", js_handler="() => window.ubayfs.forget('form ')")

    def _draft(self, name: str) -> str:
        return "" if self.rule else f"form {name}"

    def _set(self, name: str, value: Any) -> None:
        self.values[name] = value

    def _field(self, field: forms.Field) -> Any:
        value = self.values[field.name]
        if field.input == "names":
            chosen = self.values[field.name] = [str(name) for name in value]
            draft = self._draft(f"{self.form.kind} {field.name}")
            return names_field(field.label, chosen, partial(self._names, field), draft)
        if field.input == "choice":
            return choice(field.label, field.choices, value, partial(self._set, field.name))
        shown = "" if value is None else value
        hint = "A number, or the word supported: as many as the data support." if self.form.kind == "max_size" else ""
        made = entry(
            field.label, shown, partial(self._set, field.name), hint, lines=5 if field.input == "numbers" else 1,
            draft=self._draft(f"{self.form.kind} {field.name}"), held=True,
        )  # fmt: skip
        _name(made, f"form-{field.name}", field.label)
        if field.name == "costs":
            label, accepted = "or a spreadsheet with features and costs", ".csv,.tsv,.xlsx"
            drop_zone(label, address(self.bench, "upload"), self._costs, accepted)
        return made

    def _names(self, field: forms.Field) -> Names:
        all_names, on_blocks = known_names(self.bench), field.of_blocks or self.values.get("on") == "blocks"
        return all_names.block_names if on_blocks else all_names.names

    async def _costs(self, path: str) -> None:
        field = self.fields["costs"]
        matching: Any = await run.io_bound(match, self.bench.directory / path, known_names(self.bench).features)
        if field in self.fields.values():  # else another form is open by now
            self.values["costs"] = "\n".join(f"{name}\t{cost:g}" for name, cost in matching.costs.items())
            field.show(self.values["costs"])

    def _meant(self, strictness: str) -> None:
        """Show the price of a wish and its curve, or what is meant otherwise."""
        self.values["strictness"] = strictness
        self.fields.pop(PRICE, None)
        self.amount.clear()
        with self.amount:
            price = self.values[PRICE]
            if strictness == PRICE and not isinstance(price, tuple):
                hint = f"Of one violation. A feature has at most {self.n_models:,} votes, one from each model."
                typed = forms.price_text(price, self.n_models)
                self.fields[PRICE] = field = entry(_PRICE, typed, self._draw, hint)
                _name(field, "form-amount", _PRICE)
                field.box.on(
                    "input", lambda event: self._draw(str(event.args)), js_handler="(e) => emit(e.target.value)",
                    throttle=0.1,
                )  # fmt: skip
                self.curve = html("").props("role=status")
                self._draw(typed)
            else:
                html(text(_MEANING.get(strictness, "")), tag="p").classes("note").props("role=status")

    def _draw(self, votes: str) -> None:
        """Draw the penalty curve for the price that stands in the field now."""
        self.values[PRICE] = price = forms.price_of(votes, self.n_models)
        if not (isinstance(price, int | float) and 0 <= price < math.inf):
            self.curve.set_content(text("The curve appears for a number that is not negative."))
            return
        scale = scale_of(self.bench)
        rho = scale.rho(price) if price else 0.0
        self.curve.set_content(penalty_svg(rho, scale) + text(in_words(rho, scale)))

    def save(self, _: Any) -> None:
        """Add the rule or change it; what is wrong is shown at its field."""
        constraint, problems = forms.read_form(self.form.kind, self.values, known_names(self.bench))
        for name, field in self.fields.items():
            field.error.set_content(text(problems.pop(name, "")))
        self.wrong.set_content(text(" ".join(problems.values())))
        if constraint is None:
            return
        why, rules = str(self.why.value), self.bench.state.rules
        if self.rule is None:
            self.bench.add_rule(constraint, why)
        elif self.rule in rules:
            self.bench.change_rule(rules.index(self.rule), constraint=constraint, why=why)
        else:
            raise InputError("this rule was changed meanwhile. Check it and change it again.")
        self.begin(self.form.kind)
