"""Tests in a browser wait for what they look at: a page may change a moment later on a machine that is busy."""

import re
from pathlib import Path

import pytest

# What a page shows at one moment; `expect` of tests/browsing.py waits until it is what it should be.
MOMENT = re.compile(
    r"assert\b.*\.(inner_text|all_inner_texts|text_content|all_text_contents|inner_html|input_value|get_attribute|"
    r"bounding_box|is_(visible|hidden|enabled|disabled|checked|editable)|count)\(\)?"
)
FILES = [
    path for path in Path(__file__).parent.rglob("test_*.py") if "\nfrom browsing import" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_test_asserts_what_a_page_shows_at_one_moment(path):
    lines = enumerate(path.read_text("utf-8").splitlines(), start=1)
    assert [f"{number}: {line.strip()}" for number, line in lines if MOMENT.search(line)] == []
