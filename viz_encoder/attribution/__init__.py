"""Attribution: what carried a score, split exactly over tokens, blocks, heads and links."""

from viz_encoder.attribution.any_model import ModelShares as ModelShares
from viz_encoder.attribution.attribute import attribute as attribute
from viz_encoder.attribution.attribution import Attribution as Attribution
from viz_encoder.attribution.pair_shares import PairShares as PairShares
from viz_encoder.attribution.pair_shares import attribute_pair as attribute_pair
from viz_encoder.attribution.routes import weight_routes as weight_routes
from viz_encoder.exported import exported


def __dir__() -> list[str]:
    """The public names, without the modules that define them."""
    return exported(globals())
