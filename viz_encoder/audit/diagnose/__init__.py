"""Names the cause of a fault from measurements.

`diagnosis` says a cause in the words of `assets/causes.toml`, `map_cause` finds the one that a map
or a gradient equals, `passed_mask` reads what the caller's code passes in every sense it may have.
"""
