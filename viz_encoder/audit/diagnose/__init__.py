"""Names the cause of a fault from measurements: the table of causes, and how each is matched.

`causes` has each cause in a sentence with its fix, `diagnosis` finds the one that a map or a
gradient equals, `passed_mask` reads what the caller's code passes in every sense that it may have.
"""
