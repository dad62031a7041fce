"""Sphinx builds the site from the pages that docs/_ext/build.py lays out; see `make docs`."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

project = "conjury"
author = "The conjury authors"
copyright = "The conjury authors. MIT licence"
release = version = importlib.metadata.version("conjury")
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_llms_txt",
    "sphinxcontrib.bibtex",
]
templates_path = ["_templates"]
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.py.md5", "examples", "project/paper.md", "_static"]

# Pages are executed, each in an empty folder; the cache lies outside the pages and is one of this code alone.
nb_execution_mode = "cache"
nb_execution_cache_path = os.environ["CONJURY_DOCS_CACHE"]
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = False  # each failure is a warning, and warnings fail the build in the end
nb_execution_show_tb = True
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/plain", 100)]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings = ["mystnb.unknown_mime_type"]

# The API by the docstrings of what each __all__ names.
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "alpha"

sphinx_gallery_conf = {
    "examples_dirs": os.environ["CONJURY_DOCS_GALLERY"],
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "image_scrapers": ("gallery.scrape",),
    "subsection_order": "gallery.in_order",
    "within_subsection_order": "gallery.BasicFirst",
    "reset_modules": (),
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("conjury",),
    "reference_url": {"conjury": None},
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "nested_sections": True,
    "copyfile_regex": r".*\.rst",
    "thumbnail_size": (480, 320),
    "abort_on_example_error": True,
    "min_reported_time": 1e6,
    "parallel": 2,
}

html_theme = "pydata_sphinx_theme"
html_title = "conjury"
html_static_path = ["_static"]
html_additional_pages = {"404": "404.html"}
# Where GitHub serves the site of OWNER/NAME, for the page without an address of its own.
html_context = {"root": f"/{os.environ['CONJURY_DOCS_REPOSITORY'].rpartition('/')[2]}/".replace("//", "/")}
html_css_files = ["figures.css", "site.css"]
# Titles with the words of the query come first; Sphinx opens the path from where it was started.
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = True  # llms.txt is made from the copies
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "conjury"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["cite.html"],
    **({"github_url": address} if (address := os.environ["CONJURY_DOCS_REPOSITORY"]) else {}),
    "back_to_top_button": False,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

# Formulas without another host: MathJax and its fonts come from npm, see .ci/setup.sh docs.
mathjax_path = "mathjax/tex-chtml.js"
mathjax4_config = {"loader": {"paths": {"fonts": "[mathjax]/fonts"}}}

llms_txt_summary = (
    "conjury measures how LLM judges decide, next to human judges: AMCEs, agreement, benchmark scores."
)
llms_txt_full_file = True


def show_commands(_: Sphinx, doctree: nodes.document) -> None:
    """Show cells of commands as commands, without the magic that runs them."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith("%%commands\n"):
            text = block.astext().removeprefix("%%commands\n")
            block.children = [nodes.Text(text)]
            block.rawsource = text
            block["language"] = "bash"


BLOCKS = 7  # about as many as Sphinx makes of all pages


def spread(_: Sphinx, __: object, docnames: list[str]) -> None:
    """Spread pages of one folder, which may all take long, over the blocks that processes read one by one."""
    docnames[:] = [name for start in range(BLOCKS) for name in docnames[start::BLOCKS]]


def setup(app: Sphinx) -> None:
    """Connect what happens to every page."""
    app.connect("env-before-read-docs", spread)
    app.connect("doctree-read", show_commands)
