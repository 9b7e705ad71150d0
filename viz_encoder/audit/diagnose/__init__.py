"""From what was measured to a named cause."""
