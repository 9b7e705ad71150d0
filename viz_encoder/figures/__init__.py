"""Plotly figures, one file a view, each a function here: figures.attention_map(trace, layer=3)."""

from viz_encoder.exported import exported
from viz_encoder.figures.attention_map import attention_map as attention_map
from viz_encoder.figures.head_atlas import head_atlas as head_atlas
from viz_encoder.figures.head_effects import head_effects as head_effects
from viz_encoder.figures.head_shares import head_shares as head_shares
from viz_encoder.figures.head_statistics import head_statistics as head_statistics
from viz_encoder.figures.link_shares import link_shares as link_shares
from viz_encoder.figures.logit_lens import logit_lens as logit_lens
from viz_encoder.figures.over_smoothing import over_smoothing as over_smoothing
from viz_encoder.figures.pair_shares import pair_shares as pair_shares
from viz_encoder.figures.patch_overlay import patch_overlay as patch_overlay
from viz_encoder.figures.projection import projection as projection
from viz_encoder.figures.residual_change import residual_change as residual_change
from viz_encoder.figures.rollout import rollout as rollout
from viz_encoder.figures.routes import routes as routes
from viz_encoder.figures.token_pairs import token_pairs as token_pairs
from viz_encoder.figures.token_shares import token_shares as token_shares
from viz_encoder.figures.token_similarity import token_similarity as token_similarity
from viz_encoder.figures.value_weighted import value_weighted as value_weighted
from viz_encoder.figures.value_weighted_depth import value_weighted_depth as value_weighted_depth


def __dir__() -> list[str]:
    """The views, by name."""
    return exported(globals())
