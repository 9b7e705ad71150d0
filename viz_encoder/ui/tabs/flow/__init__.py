"""The Flow tab: where one token's information comes from, layer by layer."""
