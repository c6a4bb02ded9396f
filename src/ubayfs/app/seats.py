"""Which experts a browser may look for: names are no passwords, but nobody looks over the shoulder of another one."""

from __future__ import annotations

from ..exceptions import InputError
from .library import Library
from .workbench import Seat, Workbench


class Seats:
    """The seats that browsers have taken in studies, as the names under which they opened pages.

    Until one of its experts has confirmed what they know, a browser becomes only experts who have stated nothing yet.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._taken: dict[tuple[str, str], list[str]] = {}  # names by browser and study, the latest last

    def at(self, browser: str, study: str, expert: str, take: bool = False) -> Seat:
        """Return the seat of an expert, which a page may `take`; without a name, that which the browser has.

        Raises
        ------
        InputError
            If there is no such study, or if the browser may not be this expert.
        """
        bench = self.library.open(study)
        seat, taken = Seat(bench, expert), self._taken.setdefault((browser, study), [])
        name, known = seat.expert, bench.state.confirmed
        may = not taken or any(other in known for other in taken) or not _has_stated(bench, name)
        if not name:
            return seat if may else Seat(bench, taken[-1])
        if name not in taken and not (may and take):
            way_out = f"Open the page of {name} first." if may else (
                f"This browser is used by {taken[-1]}, who has not confirmed what they know; {name} needs another one."
            )  # fmt: skip
            raise InputError.of("expert", f"must not be seen by others. {way_out}", name)
        if take and taken[-1:] != [name]:
            taken[:] = [*(other for other in taken if other != name), name]
        return seat


def _has_stated(bench: Workbench, name: str) -> bool:
    return name in bench.state.confirmed or name in (bench.state.study.prior.experts or {})
