"""The live view of a notebook: Explore in a cell, its numbers from the kernel, without a server."""
