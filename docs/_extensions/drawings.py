"""Pictures of the gallery: what a block of an example ends with, if it is a drawing of ubayfs."""

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

from ubayfs.plotting import Drawing


def scrape(
    block: Any,
    block_vars: dict[str, Any],
    gallery_conf: dict[str, Any],
    **arguments: Any,
) -> str:
    """Save figures of pyplot as usual, and the drawing that the last line of the block gives.

    The title of a drawing says what it shows, and is the text for readers who do not see it.
    """
    shown = matplotlib_scraper(block, block_vars, gallery_conf, **arguments)
    names = block_vars["example_globals"]
    # The value of the last line of the last block that ends with one.
    drawing = names.get("___")
    if not isinstance(drawing, Drawing) or drawing is names.get("_shown"):
        return str(shown)
    names["_shown"] = drawing
    path = next(block_vars["image_path_iterator"])
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(drawing.render("png", dpi=150))
    title = drawing.figure.get_suptitle() or drawing.ax.get_title(loc="left")
    return str(shown) + str(figure_rst([path], gallery_conf["src_dir"], title))
