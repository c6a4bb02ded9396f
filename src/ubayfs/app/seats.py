"""Which experts a browser may look for: names are not passwords, but nobody looks over the shoulder of another one."""

from __future__ import annotations

from ..exceptions import InputError
from .library import Library
from .workbench import Seat


class Seats:
    """The names under which browsers opened pages of studies.

    Until one of its experts has confirmed what they know, a browser becomes only experts who have stated nothing yet.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._taken: dict[tuple[str, str], list[str]] = {}  # names by browser and study, the latest last

    def at(self, browser: str, study: str, expert: str, take: bool = False) -> Seat:
        """Return the seat of an expert, which a page may `take`; if there is no name, the browser stays who it is."""
        seat, taken = Seat(self.library.open(study), expert), self._taken.setdefault((browser, study), [])
        name, state = seat.expert, seat.bench.state
        is_new = name not in state.confirmed and name not in (state.study.prior.experts or {})
        may = is_new or not taken or any(other in state.confirmed for other in taken)
        if not name:
            return seat if may else Seat(seat.bench, taken[-1])
        if name not in taken and not (may and take):
            way_out = f"Open the page of {name} first." if may else f"{taken[-1]} uses this browser; use another one."
            raise InputError.of("expert", f"must not be seen by others before they confirm. {way_out}", name)
        if take:
            taken[:] = [*(other for other in taken if other != name), name]
        return seat
