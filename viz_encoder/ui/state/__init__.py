"""What open pages look at: runs, sets and models, each held within a budget."""
