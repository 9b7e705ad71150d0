"""The Pooling tab: one input, a set, and a learned query."""
