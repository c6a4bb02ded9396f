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
from ...knowledge.scale import DEFAULT_WEIGHT, number_or_word, votes
from .. import forms
from ..forms import MUST, OWN, PRICE, Known
from ..matching import match
from ..penalty import Scale, in_words, penalty_svg
from ..state import Rule
from ..view.features import add_scripts
from ..view.fields import choice, drop_zone, entry, heading, names_field, panel, tick
from ..view.frame import address, button
from ..view.live import html, line, live, on
from ..view.parts import text
from ..workbench import Seat


def known_names(bench: Seat) -> Known:
    """Return the features and blocks that rules can be about."""
    facts = bench.facts or {}
    members = {block: features for block, features in facts.get("blocks", {}).items() if features}
    return Known(facts.get("feature_names", []), Blocks(members) if members else None)


def scale_of(bench: Seat) -> Scale:
    """Return what prices are measured by: the votes, or before there are any, those that the ensemble will cast."""
    study, facts = bench.state.study, bench.facts or {}
    n_models, n_features = study.evidence.n_models, facts.get("n_features", 40)
    per_model = study.evidence.n_features_per_model
    cast = float(n_models * (per_model if isinstance(per_model, int) else features_per_model(None, n_features)))
    voted, found = bench.evidence.get("n_models", 0), bench.votes
    if found is not None and voted:
        n_models, cast = voted, float(found.sum())
    weights = study.prior.weights
    default = getattr(weights, "default", DEFAULT_WEIGHT)
    stated = sum(votes(word, default, n_models) for _, word in getattr(weights, "features", ()))
    return Scale(n_models, cast + stated + default * n_features, study.decision.constraint_strength)


def draw_rules(bench: Seat) -> None:
    """Draw the screen."""
    add_scripts()
    heading(
        "What must the set look like?",
        "A rule that is a wish may be violated, at its price in votes; one that is a must never is.",
    )
    with ui.element("div").classes("columns"):
        with ui.element("div"), panel("Your rules"):
            _rules(bench, lambda i: editor.edit(i))
        with ui.element("div"):
            editor = Editor(bench)


# -- the list ----------------------------------------------------------------------------------------------------------


def _rules(bench: Seat, edit: Callable[[int], None]) -> None:
    remarks: list[ui.html] = []

    def remark() -> None:
        known = known_names(bench)
        for i, place in enumerate(remarks[: len(bench.state.rules)]):
            place.set_content(_remark(bench, i, known))

    @live(bench, "state", of=lambda: bench.state.rules)
    def rules() -> None:
        if not bench.state.rules:
            none = "There are no rules: the best set would be all features. Add how many you want."
            line(none, "empty")
        with ui.element("ol").classes("rules"):
            remarks[:] = [_rule(bench, i, rule, edit) for i, rule in enumerate(bench.state.rules)]
        remark()

    on(bench, ("state", "facts", "problems", "answer"), remark)


def _rule(bench: Seat, i: int, rule: Rule, edit: Callable[[int], None]) -> ui.html:
    """Draw a rule; returns the place of what is found out about it."""
    says, n_rules, key, name = rule.constraint.sentence, len(bench.state.rules), f"rule-{i}", f"rule {i + 1}"

    def position() -> int:
        """Return its position, unless another window has added or removed rules since it was drawn."""
        if len(bench.state.rules) != n_rules:
            raise InputError("the rules have just been changed elsewhere; look again.")
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


def _remark(bench: Seat, i: int, known: Known) -> Markup:
    """Return how strictly a rule is meant, how many conditions it is made of, and what it contradicts."""
    rule = bench.state.rules[i]
    n = forms.n_inequalities(rule.constraint, known)
    if n is None and rule.on:  # the answer knows it, also where it depends on the data
        facts = [fact for fact in bench.bench.answer.constraints or () if not fact.from_prior]
        place = sum(other.on for other in bench.state.rules[:i])
        n = facts[place].n_inequalities if place < len(facts) else None
    strictness = rule.constraint.strictness_in_words(bench.state.study.evidence.n_models)
    meant = "must" if rule.constraint.strictness is HARD else f"wish: {strictness}"
    remark = text(meant if n in (None, 1) else f"{meant}; {counted(n, 'condition')}")
    for problem in bench.problems:
        about = problem.get("rules", ())
        if i in about:
            others = [f"{other + 1}" for other in about if other != i]
            message = f"No set satisfies this together with rule {listing(others)}." if others else problem["message"]
            remark += Markup('<div class="contradicts">{}</div>').format(text(message))
    return remark


def _strictness(bench: Seat, position: Callable[[], int], rule: Rule, key: str, name: str) -> None:
    """Draw wish or must, and the price."""
    values = forms.values_of(rule.constraint)
    now = values["strictness"]

    def change(strictness: str, amount: Any = None) -> None:
        given = values[strictness] if amount is None and STRICTNESS[strictness].amount else amount
        constraint = bench.state.rules[position()].constraint
        bench.change_rule(position(), constraint=forms.with_strictness(constraint, strictness, given))

    options = {each: STRICTNESS[each].choice for each in forms.form_of(rule.constraint.kind).strictness}
    _name(choice("Meant as", options, now, change), f"{key}-strictness", f"How strictly {name} is meant")
    label = STRICTNESS[now].amount
    if label and not isinstance(values[now], tuple):
        amount = entry(label, f"{values[now]:g}", partial(change, now), draft=f"{key}-{now}")
        _name(amount, f"{key}-amount", f"{label} of {name}")


def _name(control: Any, key: str, label: str) -> None:
    """Give a control a name of its own for screen readers, and a key by which it gets the focus back."""
    props = getattr(control, "box", control).props
    props["data-keep"], props["aria-label"] = key, label


# -- the form ----------------------------------------------------------------------------------------------------------


class Editor:
    """The form of one rule: a new one, or one that is changed. What is typed is no part of the study yet."""

    def __init__(self, bench: Seat) -> None:
        self.bench = bench
        with panel("Add a rule"):
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
        self.kinds.show(kind)
        self.place.clear()
        with self.place:
            with ui.element("div").classes("stack form-start").props(f"data-kind={kind}"):
                for field in self.form.fields:
                    self.fields[field.name] = self._field(field)
            options = {key: STRICTNESS[key].choice for key in self.form.strictness}
            meant = choice("Meant as", options, self.values["strictness"], self._meant)
            _name(meant, "form-strictness", "Meant as")
            self.amount = ui.element("div")
            self._meant(self.values["strictness"])
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

    def _names(self, field: forms.Field) -> Any:
        known, on_blocks = known_names(self.bench), field.of_blocks or self.values.get("on") == "blocks"
        return known.block_names if on_blocks else known.features

    async def _costs(self, path: str) -> None:
        field = self.fields["costs"]
        found: Any = await run.io_bound(match, self.bench.directory / path, known_names(self.bench).features)
        if field in self.fields.values():  # else another form is open by now
            self.values["costs"] = "\n".join(f"{name}\t{cost:g}" for name, cost in found.costs.items())
            field.show(self.values["costs"])

    def _meant(self, strictness: str) -> None:
        """Show the price or rho of a wish, and the curve."""
        self.values["strictness"] = strictness
        self.fields = {name: field for name, field in self.fields.items() if name not in STRICTNESS}
        self.amount.clear()
        with self.amount:
            if label := STRICTNESS[strictness].amount:
                hint = STRICTNESS[strictness].amount_help
                field = entry(label, f"{self.values[strictness]}", partial(self._set, strictness), hint)
                _name(field, "form-amount", label)
                self.fields[strictness] = field
                typed = "(e) => emit(e.target.value)"
                field.box.on("input", lambda event: self._draw(str(event.args)), js_handler=typed, throttle=0.1)
            self.curve = html("").props("role=status")
        self._draw(self.values.get(strictness))

    def _draw(self, amount: Any) -> None:
        """Draw the penalty curve for what stands in the field now."""
        strictness, scale = self.values["strictness"], scale_of(self.bench)
        if STRICTNESS[strictness].amount:
            self.values[strictness] = amount
        value = number_or_word(amount)
        if strictness == OWN:
            costs = "The stronger the correlation r of two features, the more it costs to select both"
            self.curve.set_content(text(f"{costs}: the strength is r / (1 - r)."))
            return
        if strictness != MUST and not (isinstance(value, int | float) and 0 <= value < math.inf):
            self.curve.set_content(text("The curve appears for a number that is not negative."))
            return
        rho = math.inf if strictness == MUST else scale.rho(value) if strictness == PRICE and value else float(value)
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
            raise InputError("this rule has been changed elsewhere meanwhile; look at it and change it again.")
        self.begin(self.form.kind)
