"""The Vectors tab: hidden states, poolings, a set, and a learned query."""
