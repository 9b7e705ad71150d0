"""MPNet (Song et al., 2020, arXiv:2004.09297): learned positions, and distances in the scores."""

from torch import Tensor

from viz_encoder.checkpoints.family import Family, HeadTable, Json
from viz_encoder.checkpoints.heads import TOKEN_LABELS, masked, pooler, pooler_classes
from viz_encoder.checkpoints.settings import activation, require, sizes
from viz_encoder.config import Activation, EncoderConfig

FIRST_ROW = 2  # of the first token's position, whatever pad_token_id says
BUCKETS, FURTHEST = 32, 128  # the reference counts with these, whatever config.json says


def _config(file: Json) -> EncoderConfig:
    buckets = f"MPNet is loaded with {BUCKETS} buckets of distance only"
    require(file, "relative_attention_num_buckets", BUCKETS, buckets)
    return EncoderConfig(
        **sizes(file),
        vocab_size=file["vocab_size"],
        n_segments=0,
        max_positions=file["max_position_embeddings"] - FIRST_ROW,
        relative_buckets=BUCKETS,
        relative_distance=FURTHEST,
        norm_eps=file["layer_norm_eps"],
        activation=activation(file["hidden_act"]),
        dropout=file["hidden_dropout_prob"],
    )


def _adapt(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Drop the rows up to the padding's, which no real token uses."""
    table = tensors.get("embed.position")
    if table is None or not table.ndim:
        return tensors
    return {**tensors, "embed.position": table[FIRST_ROW:]}


FAMILY = Family(
    model_types=("mpnet",),
    defaults={
        "vocab_size": 30527,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "max_position_embeddings": 512,
        "layer_norm_eps": 1e-12,
        "relative_attention_num_buckets": 32,
        "pad_token_id": 1,
    },
    config=_config,
    optional_prefixes=("mpnet.",),
    tensors="""
        embeddings.word_embeddings.weight               embed.tokens.word.weight
        embeddings.position_embeddings.weight           embed.position
        embeddings.position_ids                         -
        embeddings.LayerNorm.*                          embed.norm.*
        encoder.relative_attention_bias.weight          relative
        encoder.layer.#.attention.attn.q.*              layers.#.attn.q.*
        encoder.layer.#.attention.attn.k.*              layers.#.attn.k.*
        encoder.layer.#.attention.attn.v.*              layers.#.attn.v.*
        encoder.layer.#.attention.attn.o.*              layers.#.attn.o.*
        encoder.layer.#.attention.LayerNorm.*           layers.#.attn_norm.*
        encoder.layer.#.intermediate.dense.*            layers.#.ff.up.*
        encoder.layer.#.output.dense.*                  layers.#.ff.down.*
        encoder.layer.#.output.LayerNorm.*              layers.#.ff_norm.*
        classifier.*                                    -
        qa_outputs.*                                    -
    """,
    heads=(
        HeadTable(
            lambda file: masked(file, file["hidden_size"], Activation.GELU),
            """
            lm_head.dense.*                             heads.masked.dense.*
            lm_head.layer_norm.*                        heads.masked.norm.*
            lm_head.decoder.*                           heads.masked.out.*
            lm_head.bias                                heads.masked.out.bias?
            """,
        ),
        HeadTable(
            pooler_classes,
            """
            classifier.dense.*                          heads.classify.dense.*
            classifier.out_proj.*                       heads.classify.out.*
            """,
        ),
        TOKEN_LABELS,
        HeadTable(pooler, "pooler.dense.*                heads.pool.dense.*"),
    ),
    pads_take_no_position=True,
    adapt=_adapt,
)
FAMILIES = (FAMILY,)
