"""The Learn tab: one token's way through an encoder, every number of it."""
