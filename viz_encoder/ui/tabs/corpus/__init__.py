"""The Corpus tab: what each head does over a person's own texts."""
