"""The Explore tab: maps, rows, columns, statistics and their files."""
