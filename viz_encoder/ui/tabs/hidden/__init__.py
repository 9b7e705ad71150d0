"""The Hidden states tab: what the states of all layers show."""
