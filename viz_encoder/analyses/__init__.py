"""Analyses, one file a method, each a function here: analyses.rollout(trace, query=3)."""

from viz_encoder.analyses.attention_pooling import attention_pooling as attention_pooling
from viz_encoder.analyses.change import layer_change as layer_change
from viz_encoder.analyses.change import mask_effect as mask_effect
from viz_encoder.analyses.collection import collection as collection
from viz_encoder.analyses.collection import separation as separation
from viz_encoder.analyses.compare import compare as compare
from viz_encoder.analyses.findings import findings as findings
from viz_encoder.analyses.findings import role_shares as role_shares
from viz_encoder.analyses.mask_leaks import mask_leaks as mask_leaks
from viz_encoder.analyses.mask_leaks import mask_panels as mask_panels
from viz_encoder.analyses.nearest_tokens import nearest_tokens as nearest_tokens
from viz_encoder.analyses.padding_drift import padding_drift as padding_drift
from viz_encoder.analyses.pair import pair as pair
from viz_encoder.analyses.pooled import pooled as pooled
from viz_encoder.analyses.predictions import logit_lens as logit_lens
from viz_encoder.analyses.predictions import predictions as predictions
from viz_encoder.analyses.projection import projection as projection
from viz_encoder.analyses.residual_change import block_parts as block_parts
from viz_encoder.analyses.residual_change import hidden_change as hidden_change
from viz_encoder.analyses.residual_change import residual_change as residual_change
from viz_encoder.analyses.rollout import rollout as rollout
from viz_encoder.analyses.rollout import rollout_matrix as rollout_matrix
from viz_encoder.analyses.similar_heads import similar_heads as similar_heads
from viz_encoder.analyses.step import attention_step as attention_step
from viz_encoder.analyses.step import block_step as block_step
from viz_encoder.analyses.step import embedding_step as embedding_step
from viz_encoder.analyses.step import heads_step as heads_step
from viz_encoder.analyses.step import projection_step as projection_step
from viz_encoder.analyses.survey import survey as survey
from viz_encoder.analyses.token_pairs import token_pairs as token_pairs
from viz_encoder.analyses.token_similarity import between_runs as between_runs
from viz_encoder.analyses.token_similarity import over_smoothing as over_smoothing
from viz_encoder.analyses.token_similarity import token_similarity as token_similarity
from viz_encoder.analyses.value_weighted import value_weighted as value_weighted
from viz_encoder.analyses.value_weighted import value_weighted_sum as value_weighted_sum
from viz_encoder.exported import exported


def __dir__() -> list[str]:
    """The analyses, by name."""
    return exported(globals())
