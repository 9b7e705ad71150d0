"""Masks as people have them, and back: presets, conventions, files, packed documents, and code.

For the Masks tab and for scripts; an audit needs none of it.
"""
