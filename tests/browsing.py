"""What tests do with pages, and wait for: a page may change at any moment, and is never looked at just once."""

import time

try:
    from playwright.sync_api import expect
except ImportError:  # the fixture `browser` skips the tests
    expect = None


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
