"""The Mask zoo tab: planted mask bugs, each with its audit."""
