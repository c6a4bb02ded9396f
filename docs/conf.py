"""How the documentation site is built: `make docs`, offline, without warnings."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import ubayfs  # noqa: E402

project = "ubayfs"
author = "The ubayfs developers"
copyright = author
version = release = ubayfs.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "house_markdown",
]
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

default_role = "py:obj"  # `name` in a docstring: a link where there is something to link to, else code
autosummary_generate = True
autosummary_context = {"top_level": ubayfs.__all__}
autodoc_typehints = "none"  # the docstrings have the types, with shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "ubayfs"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "changelog": [], "contributing": [], "recipes": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.ByStory",
    "download_all_examples": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "copyfile_regex": "",
    "write_computation_times": False,
    "reference_url": {"ubayfs": None},
    "doc_module": ("ubayfs",),
    "backreferences_dir": "api/examples",
    "image_scrapers": ("drawings.scrape",),
    "ignore_repr_types": r"ubayfs\.plotting\.\w+\.Drawing'",  # it is shown as a picture
}
