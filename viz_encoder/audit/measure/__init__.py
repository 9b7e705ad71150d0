"""Measures what a model does: its inputs (setting), how it is called (subject), and the results.

The results are the maps that it made, the gradients of its outputs, whom each token can reach, and
what each way of attention gives an empty row. Nothing here says what is right.
"""
