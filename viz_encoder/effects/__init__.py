"""Effects: an encoder run again with something removed, and what that changes."""

from viz_encoder.effects.ablate import ablate as ablate
from viz_encoder.effects.changed_capture import changed as changed
from viz_encoder.effects.effect import Effect as Effect
from viz_encoder.effects.effect import effect as effect
from viz_encoder.effects.joint import joint as joint
from viz_encoder.effects.link_effect import LinkEffect as LinkEffect
from viz_encoder.effects.link_effect import links as links
from viz_encoder.effects.patch import Patch as Patch
from viz_encoder.effects.patch import patch as patch
from viz_encoder.effects.proof import AblationProof as AblationProof
from viz_encoder.effects.proof import prove as prove
from viz_encoder.effects.token_effect import Flips as Flips
from viz_encoder.effects.token_effect import TokenEffect as TokenEffect
from viz_encoder.effects.token_effect import flips as flips
from viz_encoder.effects.token_effect import tokens as tokens
from viz_encoder.exported import exported


def __dir__() -> list[str]:
    """The public names, without the modules that define them."""
    return exported(globals())
