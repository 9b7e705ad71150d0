"""Training: what heads and masks do while a model trains, written down every so many steps.

`watching.py` is the call and counts steps, `trainer.py` answers the events of a Trainer;
`batch_recording.py` looks at the batch that runs and keeps little of it; `leaks.py` is the weight
on forbidden keys and `verdict.py` what it means; `undisturbed.py` runs a compiled model beside the
loop; `look.py` is what comes of a look, `atlas.py` its picture, `writers.py` where it goes.
"""

from viz_encoder.training.look import Look as Look
from viz_encoder.training.watching import Watch as Watch
from viz_encoder.training.watching import watch as watch
