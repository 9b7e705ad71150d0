"""What a model does, measured: on which inputs (setting), called how (subject), with what result.

The results are the maps that it made, the gradients of its outputs, whom each token can reach, and
what each way of attention gives an empty row. Nothing here says what is right.
"""
