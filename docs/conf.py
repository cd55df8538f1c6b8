"""Sphinx configuration. Reference pages are generated from the declarations that the packages
themselves read."""

import sys
from importlib.metadata import version as distribution_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "openlanai"
author = "the openlanai authors"
copyright = "2026, the openlanai authors"
version = release = distribution_version("openlanai")
extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "hdl_pages"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_title = "openlanai"
exclude_patterns = ["_build"]
