"""State behind open pages: runs, sets and models, each held within a budget."""
