"""Masks as people have them: presets, conventions, files and code."""
