"""The known causes of a wrong mask by their codes: each in a sentence, with the fix in code."""

from typing import NamedTuple

from viz_encoder.audit.diagnose.causes.besides import BESIDES
from viz_encoder.audit.diagnose.causes.padding import PADDING
from viz_encoder.audit.diagnose.causes.parts import PARTS
from viz_encoder.audit.diagnose.causes.patterns import PATTERNS
from viz_encoder.audit.diagnose.causes.readings import READINGS
from viz_encoder.audit.diagnose.causes.samples import SAMPLES


class Cause(NamedTuple):
    """What is wrong with a mask, in a sentence, and the fix in code."""

    sentence: str
    cure: str


_KINDS = (READINGS, PATTERNS, PARTS, PADDING, SAMPLES, BESIDES)
CAUSES = {code: Cause(*one) for kind in _KINDS for code, one in kind.items()}
