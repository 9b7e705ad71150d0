"""The What if tab: what changes when a head, a link, a token or a word is removed."""
