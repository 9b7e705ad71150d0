"""Training: what heads and masks do while a model trains, written down every so many steps.

`watching.py` is the call, counts steps and answers the events of a Trainer; `beside.py` records the
batch that runs, and runs a compiled model beside the loop; `leaks.py` is the weight on forbidden
keys and `verdict.py` what it means; `look.py` is what comes of a look, `writers.py` where it goes.
"""

from viz_encoder.training.look import Look as Look
from viz_encoder.training.watching import Watch as Watch
from viz_encoder.training.watching import watch as watch
