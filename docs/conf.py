"""How `make docs` builds these pages: offline, with every cell run, and warnings as errors."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_sphinx"), str(HERE.parent)]  # the extensions, and the package

import viz_encoder  # noqa: E402

project = "viz_encoder"
release = viz_encoder.__version__
copyright = "viz_encoder's authors, Apache-2.0"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
extensions += ["executed", "live_pages", "offline", "reference"]  # of _sphinx
exclude_patterns = ["_build", "_sphinx"]

# Links to what torch, numpy and Plotly document would need a network; ours must all resolve.
nitpicky = True
# Others' types, and three kinds of ours that pass between parts of the package alone.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!viz_encoder\.).*"),
    (r"py:.*", r"viz_encoder\.(corpora\.chunk|corpora\.corpus_items|training\.look|ui\.state)\..*"),
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_class_signature = "mixed"
autodoc_default_options = {
    "members": True,
    "inherited-members": "str,tuple,Sequence,ABC,Module,BaseException",
}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
add_module_names = False
default_role = "code"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Fields", "params_style")]

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "viz_encoder"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["figures.js"]
html_show_search_summary = False  # it would fetch the pages, which a file opened from disk may not
html_show_sphinx = False
html_copy_source = False
