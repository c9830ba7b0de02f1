"""Sphinx settings of the vignettes."""

import os

import pyrjsel

project = "pyrjsel"
author = "pyrjsel developers"
project_copyright = author
version = release = pyrjsel.__version__

extensions = ["myst_nb", "sphinx.ext.mathjax"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_build", "rendered"]

# Each vignette is run anew, and an error or a warning in a cell fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 7200  # seconds a cell: the pneumonia page has the published lengths of runs
nb_output_stderr = "error"
myst_enable_extensions = ["dollarmath", "amsmath"]
# Progress bars go to standard error too; the kernels inherit this.
os.environ["TQDM_DISABLE"] = "1"

html_theme = "alabaster"
html_title = f"pyrjsel {release}"
# Wide enough for the 100 characters of a summary.
html_theme_options = {"page_width": "76em", "body_max_width": "none"}
html_show_sourcelink = False
