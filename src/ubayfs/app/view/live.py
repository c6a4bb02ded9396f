"""Parts of pages that follow the workbench, and handlers whose errors become messages on the page."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from markupsafe import Markup
from nicegui import Client, background_tasks, context, ui

from ...exceptions import UBayFSError
from ..sessions import ExpertSession
from .parts import notice, text

Draw = Callable[[], None]

# Where a page shows what went wrong; the frame makes the place.
PLACES: WeakKeyDictionary[Client, ui.html] = WeakKeyDictionary()


class Content(ui.html, component="static/content.js"):  # type: ignore[call-arg,misc]
    """HTML that changes in place."""


def html(content: str, tag: str = "div") -> Content:
    """Put HTML on the page that `parts` made, where everything from files is escaped."""
    return Content(content, sanitize=False, tag=tag)


def line(words: Any, kind: str = "note") -> Content:
    """Put a line of text on the page: a ``note``, or what stands where something is ``empty``."""
    made: Content = html(text(words), tag="p").classes(kind)
    return made


def on(bench: ExpertSession, kinds: str | Iterable[str], redraw: Draw) -> None:
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
            redraw()

    def arrived(kind: str) -> None:
        nonlocal waiting
        if kind in wanted and not waiting:
            waiting = True
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(run)

    unsubscribe = bench.subscribe(arrived)
    client.on_delete(unsubscribe)


def _is_gone(slot: Any) -> bool:
    try:
        return bool(slot.parent.is_deleted)
    except RuntimeError:  # nobody holds it any more
        return True


def later(work: Callable[[], Awaitable[Any]]) -> None:
    """Do something for the page while it is used; the work ends in silence if the page has been left meanwhile.

    It is a function, not a coroutine: one that was made for a task that never begins, since the server ends, would
    never be awaited.
    """
    client, slot = context.client, context.slot

    async def until_left() -> None:
        try:
            with slot:
                await work()
        except RuntimeError:
            if not client.is_deleted:
                raise

    background_tasks.create(until_left())


def refreshed(bench: ExpertSession, *kinds: str) -> Callable[[Draw], Draw]:
    """Call a function now, and again after events of these kinds: a decorator."""

    def decorate(refresh: Draw) -> Draw:
        refresh()
        on(bench, kinds, refresh)
        return refresh

    return decorate


def live(
    bench: ExpertSession, *kinds: str, of: Callable[[], Any] | None = None, classes: str = ""
) -> Callable[[Draw], Draw]:
    """Draw a part now, and again after events of these kinds: a decorator of the function that draws it.

    What is typed into a field there is lost when it is drawn again: fields stand outside, or read their own events.
    Where there are buttons, `of` returns what the part shows, and it is drawn again only if that is another value: a
    button must not vanish while it is pressed. Returns a function that draws the part again.
    """

    def decorate(draw: Draw) -> Draw:
        place = ui.element("div").classes(classes)
        shown: list[Any] = []

        @refreshed(bench, *kinds)
        def redraw() -> None:
            now = [] if of is None else [of()]
            if now and now == shown:
                return
            shown[:] = now
            place.clear()
            with place:
                draw()

        return redraw

    return decorate


def follow(bench: ExpertSession, make: Callable[[], str], *kinds: str) -> Content:
    """Draw HTML that is made again after events of these kinds; the page changes only where it does."""
    place = html(make())
    on(bench, kinds, lambda: place.set_content(make()))
    return place


def show_message(kind: str, message: Any, title: str | None = None) -> None:
    """Show a message at the top of the page until the next action."""
    _put_message(notice(kind, message, title))


def clear_message() -> None:
    """Remove the message at the top of the page."""
    _put_message(Markup())


def _put_message(content: Markup) -> None:
    if (place := PLACES.get(context.client)) is not None and place.content != content:
        place.set_content(content)


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
