"""What a display is: plain data that can be drawn, and the drawing."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._arguments import check_choice, check_int
from .._files import write_atomically
from ..exceptions import InputError, UBayFSError, UBayFSWarning
from ..selection import Problem, Selection
from .record import decode, encode
from .style import WIDTH, house_style, legend_below, wrapped

_MOST_CHOSEN = 100  # that a figure lists

D = TypeVar("D", bound="Display")

# Metadata that would make every file different: the date of its making.
_NO_DATE: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A display that has been drawn.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    ax : matplotlib.axes.Axes
        The main axes.
    """

    figure: Any
    ax: Any

    def render(self, format: str = "png") -> bytes:
        """Return the figure as the content of a file; the same figure gives the same bytes.

        Parameters
        ----------
        format : {"png", "svg", "pdf"}
            PNG has 300 dots per inch.
        """
        check_choice("format", format, _NO_DATE)
        buffer = io.BytesIO()
        with house_style(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.figure.savefig(buffer, format=format, dpi=300, metadata=_NO_DATE[format])
        # One warning for all letters that no font has, instead of one for each.
        for other in (one for one in caught if "missing from" not in str(one.message)):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        if any("missing from" in str(one.message) for one in caught):
            warnings.warn(
                "some letters are drawn as boxes, since no font of this machine has them; install one that does, such "
                "as Noto Sans CJK.",
                UBayFSWarning,
                stacklevel=2,
            )
        return buffer.getvalue()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure to a file, whole or not at all: .png, .svg or .pdf.

        Returns
        -------
        path : Path
        """
        path = Path(path)
        format = path.suffix.lower().removeprefix(".")
        if format not in _NO_DATE:
            raise InputError(f"path must end in .png, .svg or .pdf; got {str(path)!r}.")
        if not path.parent.is_dir():
            raise InputError(f"path must lie in a directory that exists; {str(path.parent)!r} does not. Make it first.")
        try:
            write_atomically(path, self.render(format))
        except OSError as error:
            # The message of the system would name a temporary file, which is gone by now.
            raise UBayFSError(
                f"{path} could not be written ({error.strerror or error}). Free space, or name another path."
            ) from error
        return path


@dataclass(frozen=True)
class Display:
    """Plain data behind one figure; a child adds fields, computes them in ``from_selection`` and draws them."""

    name: ClassVar[str]

    def plot(self, ax: Any = None) -> Drawing:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; some displays also use the margins around it. Default: a new figure, which pyplot does not
            know of, so that nothing has to be closed.

        Returns
        -------
        drawing : Drawing
            With ``figure``, ``ax`` and ``save(path)``.
        """
        title, details = self._heading()
        with house_style():
            if ax is not None:
                width = 72 * ax.bbox.width / ax.figure.dpi
                ax.set_title(wrapped(title, max(int(width / 5.5), 20)), loc="left", fontweight="bold", size=8.0)
                self._draw(ax)
                ax.tick_params(labelsize=7.5)  # axes of the caller were made under other settings
                ax.xaxis.label.set_size(8.0)
                ax.yaxis.label.set_size(8.0)
                if ax.get_legend_handles_labels()[0]:
                    ax.legend(loc="best")
                return Drawing(ax.figure, ax)
            from matplotlib.figure import Figure

            figure = Figure(figsize=(self._width(), self._height()), layout="constrained")
            ax = figure.subplots()
            figure.suptitle(wrapped(title), x=0.01, ha="left", fontweight="bold", size=9.0)
            self._draw(ax)
            legend_below(ax)
            if details:
                # Below everything else; the layout makes room for it as for any label of the figure.
                figure.supxlabel(wrapped(details, 115), x=0.01, ha="left", size=7.0, color="0.25", linespacing=1.4)
        return Drawing(figure, ax)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Draw the display and write it to a .png, .svg or .pdf file."""
        return self.plot().save(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the data in plain types, ready for JSON; infinite numbers become strings."""
        return {"display": self.name, **encode(self)}

    @classmethod
    def from_dict(cls: type[D], content: Mapping[str, Any]) -> D:
        """Make a display of what :meth:`to_dict` gave."""
        if not isinstance(content, Mapping) or content.get("display") != cls.name:
            got = content.get("display") if isinstance(content, Mapping) else type(content).__name__
            raise InputError(f"content must be what {cls.__name__}.to_dict gave; got {got!r}.")
        return decode(cls, {key: value for key, value in content.items() if key != "display"})

    def _heading(self) -> tuple[str, str]:
        """Return the title and, for a figure of its own, what else a reader must know."""
        raise NotImplementedError

    def _width(self) -> float:
        """Return the width of a figure of its own in inches."""
        return WIDTH

    def _height(self) -> float:
        """Return the height of a figure of its own in inches."""
        return 3.6

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


def problem_of(selection: Selection, purpose: str) -> Problem:
    """Return the problem behind a selection, or raise when it was read from a file."""
    if not isinstance(selection, Selection):
        raise InputError(f"selection must be a Selection, as decide() returns it; got {type(selection).__name__}.")
    if selection.problem is None:
        raise UBayFSError(
            f"{purpose} needs the constraints, which a selection read from a file does not keep; call decide() again."
        )
    return selection.problem


def leading(score: NDArray[Any], chosen: NDArray[np.bool_], max_features: int) -> NDArray[np.intp]:
    """Return the chosen features and those of the highest score, together `max_features` unless more are chosen.

    Of more than a hundred chosen ones only the highest are returned: a figure must end somewhere.

    Parameters
    ----------
    score : ndarray of shape (n_features,)
    chosen : ndarray of bool of shape (n_features,)
    max_features : int

    Returns
    -------
    shown : ndarray of int
        Highest score first; equal ones by position.
    """
    max_features = check_int("max_features", max_features, low=1)
    order = np.argsort(-score, kind="stable")
    members = order[chosen[order]][: max(max_features, _MOST_CHOSEN)]
    others = order[~chosen[order]][: max(max_features - len(members), 0)]
    shown = np.zeros(len(score), dtype=bool)
    shown[members] = shown[others] = True
    return order[shown[order]]


def shown_of(n_shown: int, n_features: int) -> str:
    """Return a sentence on features left out of a figure, or nothing."""
    return (
        ""
        if n_shown == n_features
        else f"{n_shown:,} of {n_features:,} features shown: the chosen and the leading ones. "
    )
