"""Validates the arguments of public functions by their annotations.

`hints.py` makes a reader of an annotation, `kinds.py` holds those of single kinds, `public.py` is
the decorator, and the same for a dataclass. What cannot be read is refused in one plain sentence:
the argument, the value, what is allowed.
"""

from viz_encoder.arguments.kinds import AS_IT_IS as AS_IT_IS
from viz_encoder.arguments.kinds import AnyPath as AnyPath
from viz_encoder.arguments.kinds import Count as Count
from viz_encoder.arguments.kinds import Most as Most
from viz_encoder.arguments.kinds import OneOf as OneOf
from viz_encoder.arguments.kinds import Progress as Progress
from viz_encoder.arguments.kinds import Seed as Seed
from viz_encoder.arguments.kinds import above as above
from viz_encoder.arguments.kinds import at_least as at_least
from viz_encoder.arguments.kinds import at_most as at_most
from viz_encoder.arguments.kinds import below as below
from viz_encoder.arguments.kinds import known_kind as known_kind
from viz_encoder.arguments.public import Token as Token
from viz_encoder.arguments.public import bare as bare
from viz_encoder.arguments.public import public as public
from viz_encoder.arguments.public import read_argument as read_argument
from viz_encoder.arguments.public import read_fields as read_fields
from viz_encoder.arguments.public import read_index as read_index
from viz_encoder.arguments.public import read_token as read_token
from viz_encoder.arguments.public import said as said
