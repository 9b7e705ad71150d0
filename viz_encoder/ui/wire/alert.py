"""The one way in which a fault is said on the page."""

import html


def alert(sentence: str) -> str:
    """A sentence in a box that screen readers announce."""
    return f'<div class="viz-alert" role="alert">{html.escape(sentence)}</div>'
