"""Exports: tables, an offline page, a notebook cell, pictures."""

from viz_encoder.export.cell import draw_cell as draw_cell
from viz_encoder.export.page import draw_page as draw_page
from viz_encoder.export.save import save as save
from viz_encoder.export.snippet import snippet as snippet
from viz_encoder.export.tables import arrays as arrays
from viz_encoder.export.tables import csv_lines as csv_lines
from viz_encoder.export.tables import npz_bytes as npz_bytes
from viz_encoder.trace.map_view import MapView as MapView
