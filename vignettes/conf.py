"""Sphinx settings of the documentation site, and of the run of its long pages (``-t long``)."""

import os
from importlib.resources import files
from pathlib import Path

import pyrjsel

project = "pyrjsel"
author = "pyrjsel developers"
project_copyright = author
version = release = pyrjsel.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
source_suffix = {".md": "myst-nb"}
nitpicky = True

# Long pages are shown as they were rendered by the last `make vignettes` (vignettes/render.py).
LONG = [page.name for page in Path(__file__).parent.glob("rendered/*.md") if page.name != "index.md"]
exclude_patterns = ["_build", *LONG]

# Every other page is run anew, and an error or a warning in a cell fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds a cell, on a busy machine
nb_execution_in_temp = True
nb_output_stderr = "error"
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
# Progress bars go to standard error too; the kernels inherit this.
os.environ["TQDM_DISABLE"] = "1"

autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc lists them

html_theme = "furo"
html_title = f"pyrjsel {release}"
# MathJax is in the site itself, so that pages ask no other host for anything.
html_static_path = ["_static", str(files("sphinx-mathjax-offline") / "static")]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
