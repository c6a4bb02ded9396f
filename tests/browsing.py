"""What tests do with pages, and wait for: a page may change at any moment, and is never looked at just once."""

import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from app_server import LONGEST

try:
    from playwright.sync_api import expect
except ImportError:  # the fixture `browser` skips the tests
    expect = None

WINDOW = {"width": 1280, "height": 800}


def new_context(browser):
    """Return a browser without cookies."""
    opened = browser.new_context(viewport=WINDOW, accept_downloads=True)
    opened.set_default_timeout(LONGEST)
    return opened


@contextmanager
def nothing_wrong(context):
    """Fail if pages ask another machine for something, or if there is an error in a script."""
    wrong = []
    heard = {
        "request": lambda request: is_foreign(request.url) and wrong.append(request.url),
        "weberror": lambda error: wrong.append(str(error.error)),
    }
    for event, listener in heard.items():
        context.on(event, listener)
    try:
        yield
    finally:
        for event, listener in heard.items():
            context.remove_listener(event, listener)
    assert wrong == []


def is_foreign(url):
    """Tell whether a browser asks another machine."""
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob", "about", "file") and parts.hostname != "127.0.0.1"


def undo(page):
    """Take back the last edit, and wait until the page knows."""
    button = page.locator("#undo")
    label = button.get_attribute("title")
    button.click()
    expect(button).not_to_have_attribute("title", label)


def wait_until(page, condition, seconds=120):
    """Wait for what happens outside the page, which goes on meanwhile; the limit only ends a test that would hang."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        page.wait_for_timeout(20)
