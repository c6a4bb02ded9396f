"""What the trial of selectors found: shares of true features by design, differences, and the rule applied to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..designs.trial import CANNOT, DESIGNS, OURS, PEERS

FIRST, MODEL = "mrmr", "LassoCV"
N_ERRORS, MARGIN = 2.0, -0.01
_METHODS = [*OURS, *PEERS]
_COMPARED = [
    *((how, MODEL) for how in ("wide 1.5", "wide 2.5", "lasso")), ("wide 1.5", "LassoCV on a"), ("wide 1.5", "IPSS"),
    ("wide 1.5", "wide 2.5"), ("wide 1.5", "lasso"),
]  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Mean difference of two methods over designs, its standard error, and the number of designs."""

    mean: float
    error: float
    n_designs: int

    def __str__(self) -> str:
        return f"{_signed(self.mean)} ± {_share(self.error)}" if self.n_designs > 1 else ""


@dataclass(frozen=True)
class Verdict:
    """Which of ours the rule makes the default.

    Attributes
    ----------
    default : str
    meets_rule : bool
        Whether it is ahead of mrmr and not behind LassoCV; else it is the best of ours, and no more.
    """

    default: str
    meets_rule: bool


def by_design(frame: pd.DataFrame, measure: str = "found") -> pd.DataFrame:
    """Return means over data sets, of shape (n_designs, n_methods), NaN where a method was not run."""
    names = frame["method"].str.split("-").str[0]
    table = frame.assign(design=names).pivot_table(index="design", columns="how", values=measure, aggfunc="mean")
    return table.reindex(index=[name for name in DESIGNS if name in table.index], columns=_METHODS)


def difference(table: pd.DataFrame, method: str, other: str, designs: list[str] | None = None) -> Difference:
    """Compare two methods on the designs, or on some of them, that both have."""
    rows = table if designs is None else table.loc[[name for name in designs if name in table.index]]
    gaps = (rows[method] - rows[other]).dropna().to_numpy(dtype=np.float64)
    n = len(gaps)
    return Difference(float(gaps.mean()) if n else np.nan, float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan, n)


def straight(uncensored: bool = False) -> list[str]:
    """Return the designs without non-linear effect, with or without survival."""
    return [
        name for name, one in DESIGNS.items() if one.kind != "N" and not (uncensored and one.target == "survival")
    ]  # fmt: skip


def common() -> list[str]:
    """Return the designs that all of ours can do."""
    return [name for name, one in DESIGNS.items() if not any(one.target in CANNOT.get(how, ()) for how in OURS)]


def conditions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the conditions of the rule for each of ours, highest first, and which becomes the default."""
    table = by_design(frame)
    overall = table.loc[[name for name in common() if name in table.index]].mean()
    rows = []
    for how in OURS:
        ahead, behind = difference(table, how, FIRST), difference(table, how, MODEL, straight(uncensored=True))
        rows.append({
            "how": how, "all": overall[how],
            "to_first": ahead, "ahead": ahead.mean > N_ERRORS * ahead.error,
            "to_model": behind, "not_behind": behind.mean > MARGIN,
        })  # fmt: skip
    found = pd.DataFrame(rows).sort_values("all", ascending=False, kind="stable", ignore_index=True)
    meets = found["ahead"] & found["not_behind"]
    winner = int(meets.to_numpy().argmax())  # the first that meets them, else the first
    return found.assign(meets=meets, default=np.arange(len(found)) == winner)


def verdict(frame: pd.DataFrame) -> Verdict:
    """Apply the rule of ``designs.trial``."""
    found = conditions(frame)
    winner = found[found["default"]].iloc[0]
    return Verdict(str(winner["how"]), bool(winner["meets"]))


def overall_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over designs by method, on the designs that all of ours can do, highest first.

    Columns how, n_designs, L, M, N, all, to_first, to_model (on the designs of L and M without survival, labels
    included), prediction, stability, and time: the median over designs of the ratio to mrmr.
    """
    found = {measure: by_design(frame, measure) for measure in ("found", "prediction", "stability", "seconds")}
    designs = [name for name in common() if name in found["found"].index]
    shares = found["found"].loc[designs]
    kinds = pd.Series({name: DESIGNS[name].kind for name in designs})
    rows = []
    for how in _METHODS:
        own = shares[how].dropna()
        if own.empty:
            continue
        ahead = difference(found["found"], how, FIRST)
        behind = difference(found["found"], how, MODEL, straight(uncensored=True))
        rows.append({
            "how": how, "n_designs": len(own), **{kind: own[kinds[own.index] == kind].mean() for kind in "LMN"},
            "all": own.mean(), "to_first": ahead, "to_model": behind,
            "prediction": found["prediction"].loc[own.index, how].mean(),
            "stability": found["stability"].loc[own.index, how].mean(),
            "time": (found["seconds"][how] / found["seconds"][FIRST]).median(),
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values("all", ascending=False, kind="stable", ignore_index=True)


def kinds_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return differences by kind of design, survival and labels included: not part of the rule."""
    table = by_design(frame)
    kinds = {kind: [name for name, one in DESIGNS.items() if one.kind in kind] for kind in ("L", "M", "N", "LMN")}
    return pd.DataFrame(
        {"pair": f"{how} to {other}", **{kind: difference(table, how, other, kinds[kind]) for kind in kinds}}
        for how, other in _COMPARED
    )


def designs_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share that each method finds, by design: columns of the design, then one per method."""
    table = by_design(frame)
    described = [
        {"design": name, "features": DESIGNS[name].features, "effect": DESIGNS[name].effect,
         "target": DESIGNS[name].target, "n": DESIGNS[name].n, "p": DESIGNS[name].p, "k": DESIGNS[name].k}
        for name in table.index
    ]  # fmt: skip
    return pd.concat([pd.DataFrame(described), table.reset_index(drop=True)], axis=1)


def _share(value: Any) -> str:
    """Return a share without the zero: .537, -.012.

    >>> _share(-0.0123)
    '-.012'
    """
    return "" if pd.isna(value) else f"{float(value):.3f}".replace("0.", ".", 1)


def _two(value: Any) -> str:
    return "" if pd.isna(value) else f"{float(value):.2f}".replace("0.", ".", 1)


def _signed(value: Any) -> str:
    return "" if pd.isna(value) else f"{float(value):+.3f}".replace("0.", ".", 1)


def _yes(value: Any) -> str:
    return "yes" if value else "no"


def _ratio(value: Any) -> str:
    return "" if pd.isna(value) else f"{float(value):.1f}"


Tables = dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], list[tuple[str, Any, tuple[str, ...]]]]]
TABLES: Tables = {
    "trial": (overall_table, [
        ("method", str, ("how",)), ("designs", str, ("n_designs",)), ("L", _share, ("L",)), ("M", _share, ("M",)),
        ("N", _share, ("N",)), ("all", _share, ("all",)),
        ("to mrmr", str, ("to_first",)), ("to LassoCV, L and M", str, ("to_model",)),
        ("prediction", _share, ("prediction",)), ("stability", _share, ("stability",)),
        ("time / mrmr", _ratio, ("time",)),
    ]),
    "trial_short": (overall_table, [
        ("method", str, ("how",)), ("linear", _share, ("L",)), ("skewed", _share, ("M",)), ("bent", _share, ("N",)),
        ("all", _share, ("all",)), ("stability", _share, ("stability",)), ("time / mrmr", _ratio, ("time",)),
    ]),
    "trial_rule": (conditions, [
        ("ours", str, ("how",)), ("all", _share, ("all",)), ("to mrmr", str, ("to_first",)),
        ("ahead of mrmr", _yes, ("ahead",)), ("to LassoCV, L and M", str, ("to_model",)),
        ("not behind LassoCV", _yes, ("not_behind",)), ("default", _yes, ("default",)),
    ]),
    "trial_kinds": (kinds_table, [
        ("difference", str, ("pair",)), *((kind, str, (kind,)) for kind in "LMN"), ("all", str, ("LMN",)),
    ]),
    "trial_designs": (designs_table, [
        *((name, str, (name,)) for name in ("design", "features", "effect", "target", "n", "p", "k")),
        *((how, _two, (how,)) for how in _METHODS),
    ]),
}  # fmt: skip
