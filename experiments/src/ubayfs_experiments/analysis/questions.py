"""What answers of an expert gain: the table of the questions."""

from __future__ import annotations

import pandas as pd

from ..designs.questions import CELLS, N_QUESTIONS, WAYS

AFTER = (1, 5, N_QUESTIONS)  # questions


def questions_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return hits before any question, and those gained after some, by the way in which features are chosen to ask.

    Parameters
    ----------
    frame : DataFrame
        All outcomes, of ``store.read_frames``.

    Returns
    -------
    table : DataFrame
        Columns cell, asked, n, before, after_1, after_5, after_10, per_question and error: the standard error of the
        hits gained after all questions.
    """
    rows = []
    for data, kind in CELLS:
        for way in WAYS:
            found = frame[(frame["data"] == data) & (frame["kind"] == kind) & (frame["asked"] == way)]
            if len(found):
                gained = {n: found[f"hits_{n}"] - found["hits_0"] for n in AFTER}
                rows.append(
                    {
                        "cell": f"{data}, {kind}",
                        "asked": way,
                        "n": len(found),
                        "before": found["hits_0"].mean(),
                        **{f"after_{n}": values.mean() for n, values in gained.items()},
                        "error": gained[N_QUESTIONS].sem(),
                        "per_question": gained[N_QUESTIONS].mean() / N_QUESTIONS,
                    }
                )
    return pd.DataFrame(rows)
