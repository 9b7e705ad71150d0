"""Steps: one token's way through an encoder, every number of it, each equal to what ran."""

from viz_encoder.analyses.step.attention_row import AttentionStep as AttentionStep
from viz_encoder.analyses.step.attention_row import attention_step as attention_step
from viz_encoder.analyses.step.block import BlockStep as BlockStep
from viz_encoder.analyses.step.block import Stage as Stage
from viz_encoder.analyses.step.block import block_step as block_step
from viz_encoder.analyses.step.embedding import EmbeddingStep as EmbeddingStep
from viz_encoder.analyses.step.embedding import embedding_step as embedding_step
from viz_encoder.analyses.step.heads import HeadsStep as HeadsStep
from viz_encoder.analyses.step.heads import heads_step as heads_step
from viz_encoder.analyses.step.norm_and_feed_forward import FeedForwardStep as FeedForwardStep
from viz_encoder.analyses.step.norm_and_feed_forward import NormStep as NormStep
from viz_encoder.analyses.step.projection import ProjectionStep as ProjectionStep
from viz_encoder.analyses.step.projection import projection_step as projection_step
