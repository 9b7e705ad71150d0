"""Whether attributions find what an answer depends on, where that is known, and what they cost."""
