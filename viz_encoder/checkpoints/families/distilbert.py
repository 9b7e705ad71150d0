"""DistilBERT (Sanh et al., 2019, arXiv:1910.01108): half of BERT's layers, and no segments."""

from viz_encoder.checkpoints import tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json, activation
from viz_encoder.config import Activation, EncoderConfig


def _config(file: Json) -> EncoderConfig:
    # Positions that were sinusoidal in training (sinusoidal_pos_embds) are in the file as a table.
    return EncoderConfig(
        n_layers=file["n_layers"],
        n_heads=file["n_heads"],
        d_model=file["dim"],
        d_ff=file["hidden_dim"],
        vocab_size=file["vocab_size"],
        n_segments=0,
        max_positions=file["max_position_embeddings"],
        norm_eps=1e-12,
        activation=activation(file["activation"]),
        dropout=file["dropout"],
    )


FAMILY = Family(
    model_types=("distilbert",),
    defaults={
        "vocab_size": 30522,
        "max_position_embeddings": 512,
        "n_layers": 6,
        "n_heads": 12,
        "dim": 768,
        "hidden_dim": 3072,
        "dropout": 0.1,
        "activation": "gelu",
        "pad_token_id": 0,
    },
    config=_config,
    optional_prefixes=("distilbert.",),
    tensors=tables.WORDS_AND_POSITIONS
    + tables.NO_HEADS
    + """
        transformer.layer.#.attention.q_lin.*           layers.#.attn.q.*
        transformer.layer.#.attention.k_lin.*           layers.#.attn.k.*
        transformer.layer.#.attention.v_lin.*           layers.#.attn.v.*
        transformer.layer.#.attention.out_lin.*         layers.#.attn.o.*
        transformer.layer.#.sa_layer_norm.*             layers.#.attn_norm.*
        transformer.layer.#.ffn.lin1.*                  layers.#.ff.up.*
        transformer.layer.#.ffn.lin2.*                  layers.#.ff.down.*
        transformer.layer.#.output_layer_norm.*         layers.#.ff_norm.*
        pre_classifier.*                                -  classification head
    """,
    heads=(
        CarriedHead(
            tables.masked("dim", "activation"),
            """
            vocab_transform.*                           heads.masked.dense.*
            vocab_layer_norm.*                          heads.masked.norm.*
            vocab_projector.*                           heads.masked.out.*
            """,
        ),
        CarriedHead(
            tables.first_token_classes(Activation.RELU, "dim"),
            """
            pre_classifier.*                            heads.classify.dense.*
            classifier.*                                heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        tables.TOKEN_LABELS,
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
