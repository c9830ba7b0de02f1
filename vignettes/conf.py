"""Sphinx settings of the vignettes."""

import pyrjsel

project = "pyrjsel"
author = "pyrjsel developers"
release = pyrjsel.__version__

extensions = ["myst_nb", "sphinx.ext.mathjax"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_build"]

# Each vignette is run anew, and an error in a cell fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
myst_enable_extensions = ["dollarmath", "amsmath"]

html_theme = "alabaster"
html_title = f"pyrjsel {release}"
