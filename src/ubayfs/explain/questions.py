r"""What an expert should be asked: the features about which an answer would change the set most.

An answer is a word of the scale: *likely* raises the weight of a feature, *unlikely* is a soft exclusion. The decision
is made again with it, exactly, and the *gain* is what the new best set scores above the present one once the answer is
known, in votes. Of members it is asked whether they are unlikely, of all others whether they are likely: the other
answer speaks for the set as it is.

**Why few decisions are enough.** Let T' be the total of weights and votes after a feature was raised by d votes; it is
the same for all features that are asked about. Under this total and without the raise, let W be the highest score of a
set that leaves room for one more feature: in every inequality in which all features count (sizes, budgets) the bound is
lower by the smallest coefficient. A set with feature j, which has no negative coefficient in other inequalities, scores
at most W without j, since leaving it out violates nothing more. So

.. math:: \text{score with } j \text{ raised} \le W + \theta_j + d / T'.

W takes one decision. Where the best set with room for one more feature, with j, attains the bound, it is the best set
with j, and no decision is needed; of all others the decision is made, highest bound first, until no bound exceeds the
gain of the n-th best question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._arguments import Floats, Ints, Mask, RandomState, by_name, check_int, mask_of
from ..constraints.constraint import inequalities, one_row
from ..constraints.utility import RELATIVE_TOLERANCE, Utility, priced, relaxation_of_cost, score_tolerance
from ..decision.selection import Selection
from ..exceptions import InputError
from ..knowledge.scale import UNLIKELY, UNLIKELY_PRICE, votes
from ..optimize.presolve import needed_features
from ..priors import Posterior
from ..priors.dirichlet import DirichletPosterior
from .redecide import Answer, Redecider, full_rows

LIKELY = "likely"
# Decisions on features that are not chosen, at most: so that an answer takes about a second for 20,000 features.
MOST_DECISIONS = 60
_CHUNK = 256  # features that are looked at together
_SAME = RELATIVE_TOLERANCE  # shares that differ by less are equal


@dataclass(frozen=True)
class Question:
    """A feature that an expert should be asked about, and what an answer would change.

    Attributes
    ----------
    feature : str
    chosen : bool
        Whether it is a member. Only the answer "unlikely" changes the set then; else only "likely" does.
    count : int
        Its votes.
    word : str
        The answer that changes the set: "unlikely" or "likely".
    added, removed : tuple of str
        How the set would change; where several sets are equally good, to one of them.
    gain_votes : float
        What the changed set scores above the present one if that is the answer, in votes.
    share : float
        The same as a share of the votes that the answer is worth, from 0 to 1: how close the call is.
    proved : bool
        Whether the changed set is proved to be the best one, and no other feature ranks before this one unseen.

    Examples
    --------
    >>> from ubayfs import Evidence, decide, questions
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> selection = decide(Evidence.from_sets(sets, ["crp", "il6", "tnf", "age"]), max_size=2)
    >>> first = questions(selection)[0]
    >>> first.feature, first.word, first.added, first.removed
    ('il6', 'unlikely', ('tnf',), ('il6',))
    """

    feature: str
    chosen: bool
    count: int
    word: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    gain_votes: float
    share: float
    proved: bool


@by_name()
def questions(
    selection: Selection, *, n: int = 10, random_state: RandomState = 0, node_limit: int | None = None
) -> tuple[Question, ...]:
    """Find the features whose relevance would change the set most if an expert knew it.

    Features of which something was stated already are not asked about. A question ranks by its `share`: how much of
    the votes that an answer is worth is gained by the changed set. So the closest calls come first; features that no
    answer brings into the set, or out of it, are not among them.

    Parameters
    ----------
    selection : Selection
        From :func:`~ubayfs.decide`; one read from a file does not know the constraints.
    n : int, default 10
        How many questions; fewer if no other answer changes the set.
    random_state : int, Generator, RandomState or None, default 0
        For the genetic optimizer; the rest has no chance in it.
    node_limit : int, optional
        Nodes of branch and bound in each decision; what is not proved by then is marked as such. Default: no limit.

    Returns
    -------
    questions : tuple of Question
        The closest call first. Exact under the Dirichlet prior; under other priors the votes of an answer are added to
        the importances as they are, and no question is marked as proved.

    See Also
    --------
    decide : Makes the decision.

    Examples
    --------
    >>> from ubayfs import Evidence, decide, questions
    >>> sets = [[1, 1, 0, 0]] * 20 + [[1, 0, 1, 0]] * 15 + [[1, 0, 0, 1]] * 5
    >>> selection = decide(Evidence.from_sets(sets, ["a", "b", "c", "d"]), max_size=2)
    >>> for question in questions(selection):
    ...     print(question.feature, question.word, question.added, question.removed, round(question.gain_votes, 2))
    b unlikely ('c',) ('b',) 15.0
    c likely ('c',) ('b',) 4.99
    """
    n = check_int("n", n, low=0)
    again = Redecider.from_selection(selection, "questions to an expert", random_state, node_limit)
    posterior = selection.posterior
    if posterior is None:
        rule = "has importances without votes, which words such as likely are measured by; decide on evidence."
        raise InputError.of("selection", rule)
    asked = _unstated(posterior)
    lowered = _Lowered(again, posterior)
    open_questions = [
        q for position in np.flatnonzero(asked & selection.mask) if (q := lowered.question(int(position)))
    ]
    raised = _Raised.from_posterior(again, posterior, float(posterior.weights[asked].min(initial=np.inf)))
    candidates, unseen = np.flatnonzero(asked & ~selection.mask & raised.reach), 0.0
    if n and raised.gain > 0:
        likely, unseen = raised.closest(candidates, [question.share for question in open_questions], n)
        open_questions += likely
    exact = isinstance(posterior, DirichletPosterior)
    ranked = sorted(open_questions, key=lambda question: (-question.share, -question.count))[:n]
    return tuple(replace(q, proved=q.proved and exact and q.share >= unseen - _SAME) for q in ranked)


def _unstated(posterior: Posterior) -> Mask:
    """Return the features of which nothing was stated: they have the lowest weight, of shape (n_features,)."""
    stated = {} if posterior.knowledge is None else posterior.knowledge.stated
    free = np.array([name not in stated for name in posterior.feature_names])
    least: Mask = posterior.weights == posterior.weights[free].min(initial=np.inf)
    return free & least


def _question(
    again: Redecider, position: int, word: str, answer: Answer, gain: float, worth: float, total: float
) -> Question | None:
    """Return what an answer changes; None if there is no other set. `worth` is the score that the answer is worth."""
    selection = again.selection
    if answer.chosen is None or (answer.chosen == selection.mask).all():
        return None
    assert selection.counts is not None
    count = round(float(selection.counts[position]))
    return Question(
        str(selection.feature_names[position]), bool(selection.mask[position]), count, word,
        *again.changes(answer.chosen), total * gain, min(max(gain / worth, 0.0), 1.0), answer.proved,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Lowered:
    """Decides with members held unlikely."""

    again: Redecider
    posterior: Posterior

    @property
    def cost(self) -> float:
        """Score that an unlikely feature costs a set in which all constraints hold."""
        return UNLIKELY_PRICE * self.posterior.evidence.n_models / self.posterior.total

    @cached_property
    def stays(self) -> bool:
        """Whether no set with an unlikely member is better than the chosen one, whichever member that is.

        A set with it has the score of all its importances and admissibility times the strength less the cost.
        """
        utility, strength = self.again.problem.utility, self.again.problem.utility.constraint_strength - self.cost
        if strength <= 0:
            return True  # such a set violates what is as good as a hard constraint
        lowered, mask = replace(utility, constraint_strength=strength), self.again.selection.mask
        best = self.again.decide(lowered, mask, nearest=False)
        value = float(lowered(mask)[0])
        highest = np.inf if best.chosen is None or not best.proved else float(lowered(best.chosen)[0])
        return highest <= value + score_tolerance(value)

    def question(self, position: int) -> Question | None:
        """Return what it changes if a member is unlikely."""
        utility, mask, selection = self.again.problem.utility, self.again.selection.mask, self.again.selection
        feature, hard = mask_of([position], len(mask)), self.cost >= utility.constraint_strength
        worth = self.cost * (1.0 if hard else selection.metrics.admissibility)  # what the chosen set loses
        if self.stays:  # the system stays as it is, with all that is derived from it
            changed = replace(utility, selectable=utility.selectable & ~feature)
        else:
            rho = relaxation_of_cost(self.cost, utility.constraint_strength)
            row = inequalities(one_row([position], 1.0, utility.n_features), 0.0, rho, UNLIKELY)
            changed = replace(utility, system=utility.system.with_inequalities(row))
        answer = self.again.decide(changed, mask & ~feature, nearest=False)
        gain = worth - answer.loss
        if not hard and gain <= score_tolerance(selection.value):
            return None
        return _question(self.again, position, UNLIKELY, answer, gain, worth, self.posterior.total)


@dataclass(frozen=True, eq=False)
class _Raised:
    """Decides with features that are not chosen raised to likely, as far as they can be among the closest calls."""

    again: Redecider
    base: Utility  # with the total of votes after the raise, but without the raise itself
    gain: float  # importance that the raise adds
    total: float  # of votes and weights after the raise
    reach: Mask  # features that may be selected once they are raised, of shape (n_features,)

    @classmethod
    def from_posterior(cls, again: Redecider, posterior: Posterior, weight: float) -> _Raised:
        """Prepare for features of one weight."""
        utility, n_models = again.problem.utility, posterior.evidence.n_models
        raised = max(votes(LIKELY, weight, n_models) - weight, 0.0)
        total = posterior.total + raised
        system = priced(utility.system, n_models, total, utility.constraint_strength)
        # The raise adds to the total of votes and weights, so that all importances become smaller.
        theta = utility.theta * (posterior.total / total)
        enough = posterior.counts + raised >= again.problem.min_votes
        reach = utility.selectable | (enough & ~again.problem.unselectable["constant"])
        return cls(again, replace(utility, theta=theta, system=system), raised / total, total, reach)

    @cached_property
    def present(self) -> float:
        """Score of the chosen set after the raise of a feature that is not in it."""
        return float(self.base(self.again.selection.mask)[0])

    @cached_property
    def _with_room(self) -> Utility:
        """The utility whose sets have room for one more feature in the inequalities in which all of them count."""
        bound = self.base.system.b.copy()
        for row, coefficients in full_rows(replace(self.base, selectable=self.reach)).items():
            bound[row] -= coefficients.min()
        return replace(self.base, system=replace(self.base.system, b=bound))

    @cached_property
    def _helping(self) -> Mask:
        """The features that may satisfy inequalities, of shape (n_features,)."""
        return _may_help(replace(self.base, selectable=self.reach))

    @cached_property
    def room(self) -> Answer:
        """The best set that leaves room for one more feature."""
        return self.again.decide(self._with_room, self.again.selection.mask)

    def closest(self, positions: Ints, shares: list[float], n: int) -> tuple[list[Question], float]:
        """Return the questions that may be among the best n, beside others with `shares`.

        The number is the highest share that a feature may have that matters and for which no decision was made.
        """
        bounds, close_calls, unseen, n_decisions = self._bounds(positions), list[Question](), 0.0, 0
        order = np.lexsort((-self.base.theta[positions], -bounds))
        for start in range(0, len(order), _CHUNK):
            part = order[start : start + _CHUNK]
            for k, attained in zip(part.tolist(), self._attained(positions[part], bounds[part]), strict=True):
                best = sorted([*shares, *(question.share for question in close_calls)], reverse=True)[:n]
                if bounds[k] <= _SAME or (len(best) == n and bounds[k] <= best[-1] + _SAME):
                    return close_calls, unseen
                if not attained and n_decisions == MOST_DECISIONS:
                    unseen = max(unseen, float(bounds[k]))
                    continue
                n_decisions += not attained
                question = self._raised(int(positions[k]), bool(attained))
                close_calls += [] if question is None else [question]
        return close_calls, unseen

    def _bounds(self, positions: Ints) -> Floats:
        """Return upper bounds of the shares of some features."""
        highest = self._highest(self.base)
        score = np.full(len(positions), highest)
        if (beyond := ~self.base.selectable[positions]).any():  # sets with one of these are none of the base
            score[beyond] = self._highest(replace(self.base, selectable=self.reach))
        if self.room.proved:
            free = ~self._helping[positions]
            without = -np.inf if self.room.chosen is None else float(self._with_room(self.room.chosen)[0])
            # W + theta_j of the module docstring; with a feature that helps inequalities more may be possible.
            score[free] = np.minimum(score, without + self.base.theta[positions])[free]
        # A set without the feature gains nothing by the raise.
        return self._share(np.maximum(score + self.gain, highest))

    def _highest(self, utility: Utility) -> float:
        """Return the score of the best set, or infinity if it is not known."""
        best = self.again.decide(utility, self.again.selection.mask, nearest=False)
        return float(utility(best.chosen)[0]) if best.proved and best.chosen is not None else np.inf

    def _share(self, score: Any) -> Floats:
        """Return what scores are above that of the present set, as a share of what the raise is worth."""
        return np.minimum((np.asarray(score) - self.present) / self.gain, 1.0)

    def _attained(self, positions: Ints, bounds: Floats) -> Mask:
        """Return for which features the bound is attained by the best set with room for one more, and that feature."""
        room, n = self.room.chosen, len(positions)
        if room is None:
            return np.zeros(n, dtype=bool)
        members = np.flatnonzero(room)
        rows = np.concatenate([np.arange(n), np.repeat(np.arange(n), len(members))])
        columns = np.concatenate([positions, np.tile(members, n)])
        sets = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, self.base.n_features))
        attained: Mask = self._share(self.base(sets) + self.gain) >= bounds - _SAME
        # One that was no candidate before may bring more than the raise is worth.
        return attained & ~room[positions] & (self.base.selectable | ~self._helping)[positions]

    def _raised(self, position: int, attained: bool) -> Question | None:
        """Return what raising a feature changes: its set is known, or found by a decision."""
        begin, feature = self.again.selection.mask, mask_of([position], self.base.n_features)
        changed = replace(self.base, theta=self.base.theta + self.gain * feature)
        if not self.base.selectable[position]:
            changed = replace(changed, selectable=needed_features(changed, self.base.selectable | feature) & self.reach)
        if attained and self.room.chosen is not None:
            answer = Answer(self.room.chosen | feature, 0.0, 0.0, True)
        else:
            answer = self.again.decide(changed, begin | feature, nearest=False)
        value = -np.inf if answer.chosen is None else float(changed(answer.chosen)[0])
        if value <= self.present + score_tolerance(value):
            return None
        return _question(self.again, position, LIKELY, answer, value - self.present, self.gain, self.total)


def _may_help(utility: Utility) -> Mask:
    """Return the features that may satisfy inequalities in which not all features count, of shape (n_features,)."""
    system, n = utility.system, utility.n_features
    owner = np.repeat(np.arange(system.n_inequalities), np.diff(system.A.indptr))
    negative = (system.A.data < 0) & ~np.isin(owner, list(full_rows(utility)))
    columns = np.unique(system.A.indices[negative])
    helping = mask_of(columns[columns < n], n)
    helping[system.blocks[columns[columns >= n] - n].indices] = True
    return helping
