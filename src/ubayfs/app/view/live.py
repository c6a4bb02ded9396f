"""Parts of pages that follow the workbench, and handlers whose errors become messages on the page."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from markupsafe import Markup
from nicegui import Client, background_tasks, context, ui

from ...exceptions import UBayFSError
from .parts import notice

if TYPE_CHECKING:
    from ..seat import Seat

Draw = Callable[[], Awaitable[None] | None]

# Where a page shows what went wrong; the frame makes the place.
PLACES: WeakKeyDictionary[Client, ui.html] = WeakKeyDictionary()


def html(content: str, tag: str = "div") -> ui.html:
    """Put HTML on the page that `parts` made, where everything from files is escaped."""
    return ui.html(content, sanitize=False, tag=tag)


def on(bench: Seat, kinds: str | Iterable[str], redraw: Draw) -> None:
    """Call `redraw` after events of these kinds, where it stands on the page and as long as that is there.

    Events that come while a redrawing is waiting cause no second one. May be called from any thread of the workbench.
    """
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    client, slot, loop = context.client, context.slot, asyncio.get_running_loop()
    waiting = False

    def run() -> None:
        nonlocal waiting
        waiting = False
        if client.is_deleted or _is_gone(slot):
            unsubscribe()
            return
        with slot:
            result = redraw()
            if inspect.isawaitable(result):
                background_tasks.create(_awaited(result, slot), name="redraw")

    def arrived(event: Any) -> None:
        nonlocal waiting
        if event.kind in wanted and not waiting and not loop.is_closed():
            waiting = True
            loop.call_soon_threadsafe(run)

    unsubscribe = bench.subscribe(arrived)
    client.on_delete(lambda: unsubscribe())


def _is_gone(slot: Any) -> bool:
    try:
        return bool(slot.parent.is_deleted)
    except RuntimeError:  # nobody holds it any more
        return True


async def _awaited(result: Awaitable[None], slot: Any) -> None:
    with slot:
        await result


def live(bench: Seat, *kinds: str, tag: str = "div", classes: str = "") -> Callable[[Draw], Draw]:
    """Draw a part now, and again after events of these kinds: a decorator of the function that draws it.

    What is typed into a field there is lost when it is drawn again: fields stand outside, or read their own events.
    Returns a function that draws the part again.
    """

    def decorate(draw: Draw) -> Draw:
        place = ui.element(tag).classes(classes)

        def redraw() -> Awaitable[None] | None:
            place.clear()
            with place:
                result = draw()
            return _awaited(result, place.default_slot) if inspect.isawaitable(result) else None

        first = redraw()
        if first is not None:
            background_tasks.create(first, name="draw")
        on(bench, kinds, redraw)
        return redraw

    return decorate


def show_message(kind: str, message: Any, title: str | None = None) -> None:
    """Show a message at the top of the page until the next action."""
    place = PLACES.get(context.client)
    if place is not None:
        place.set_content(notice(kind, message, title))


def clear_message() -> None:
    """Remove the message at the top of the page."""
    place = PLACES.get(context.client)
    if place is not None and place.content:
        place.set_content(Markup())


def guarded(action: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler that shows an error of the package, or of the disk, on the page; the state is as before.

    It acts for the page, not for the button, which may be drawn again, or left with the page, before it is done.
    """

    @wraps(action)
    async def handler(*arguments: Any) -> Any:
        client = context.client
        with client:
            clear_message()
            try:
                result = action(*arguments)
                return await result if inspect.isawaitable(result) else result
            except (UBayFSError, OSError) as error:
                show_message("error", str(error))
            except RuntimeError:
                if not client.is_deleted:
                    raise
        return None

    return handler
