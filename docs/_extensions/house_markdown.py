"""Our Markdown on the site: fences of files, with their names, and pages that lie above the folder of the site."""

import re
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

ABOVE = {
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "recipes": "RECIPES.md",
}
# Where links of such a page lead on the site.
LINKS = [
    (r"\]\(docs/", "]("),
    (r"\]\(examples/(\w+)\.py\)", r"](gallery/\1.rst)"),
    *((rf"\]\({name}\)", f"]({page}.md)") for page, name in ABOVE.items()),
]
# A fence that begins a file: its language and the name that the reader saves it under.
FILE = re.compile(
    r"^```(csv|yaml|bash|snakemake|python) (\S+\.\w+|Snakefile)$", re.MULTILINE
)


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    if page in ABOVE:
        path = Path(app.srcdir).parent / ABOVE[page]
        app.env.note_dependency(str(path))
        source[0] = path.read_text(encoding="utf-8")
        for pattern, replacement in LINKS:
            source[0] = re.sub(pattern, replacement, source[0])
    source[0] = FILE.sub(r"```{code-block} \1\n:caption: \2\n", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Show tables as text and Snakemake, which is close to it, as Python."""
    app.add_lexer("csv", TextLexer)
    app.add_lexer("snakemake", PythonLexer)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
