"""The Attention tab: maps, rows, columns, statistics and their files."""
