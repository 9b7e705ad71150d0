"""BERT (Devlin et al., 2019, arXiv:1810.04805): post-norm, learned positions, two segments."""

from reprlib import repr as shown

from viz_encoder.checkpoints.family import Family, HeadTable, Json
from viz_encoder.checkpoints.settings import activation, classes
from viz_encoder.config import Activation, EncoderConfig, HeadConfig, HeadPool, Task
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    positions = file["position_embedding_type"]
    if positions != "absolute":
        raise CheckpointError(
            f"config.json asks for position_embedding_type {shown(positions)}; "
            "BERT is loaded with 'absolute' positions only."
        )
    return EncoderConfig(
        n_layers=file["num_hidden_layers"],
        n_heads=file["num_attention_heads"],
        d_model=file["hidden_size"],
        d_ff=file["intermediate_size"],
        vocab_size=file["vocab_size"],
        n_segments=file["type_vocab_size"],
        max_positions=file["max_position_embeddings"],
        norm_eps=file["layer_norm_eps"],
        activation=activation(file["hidden_act"]),
        dropout=file["hidden_dropout_prob"],
        causal=file["is_decoder"],
    )


def _masked(file: Json) -> HeadConfig:
    return HeadConfig(
        task=Task.MASKED,
        d_dense=file["hidden_size"],
        activation=activation(file["hidden_act"]),
        norm=True,
        n_out=file["vocab_size"],
    )


def _classify(file: Json) -> HeadConfig:
    return classes(
        file,
        task=Task.CLASSIFY,
        pool=HeadPool.CLS,
        d_dense=file["hidden_size"],
        activation=Activation.TANH,
    )


def _pool(file: Json) -> HeadConfig:
    width = file["hidden_size"]
    return HeadConfig(Task.POOL, HeadPool.CLS, d_dense=width, activation=Activation.TANH)


FAMILY = Family(
    model_types=("bert",),
    defaults={
        "vocab_size": 30522,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "pad_token_id": 0,
    },
    config=_config,
    optional_prefixes=("bert.",),
    tensors="""
        embeddings.word_embeddings.weight               embed.tokens.word.weight
        embeddings.token_type_embeddings.weight         embed.tokens.segment.weight
        embeddings.position_embeddings.weight           embed.position
        embeddings.position_ids                         -
        embeddings.LayerNorm.*                          embed.norm.*
        encoder.layer.#.attention.self.query.*          layers.#.attn.q.*
        encoder.layer.#.attention.self.key.*            layers.#.attn.k.*
        encoder.layer.#.attention.self.value.*          layers.#.attn.v.*
        encoder.layer.#.attention.output.dense.*        layers.#.attn.o.*
        encoder.layer.#.attention.output.LayerNorm.*    layers.#.attn_norm.*
        encoder.layer.#.intermediate.dense.*            layers.#.ff.up.*
        encoder.layer.#.output.dense.*                  layers.#.ff.down.*
        encoder.layer.#.output.LayerNorm.*              layers.#.ff_norm.*
        cls.seq_relationship.*                          -
        qa_outputs.*                                    -
        classifier.*                                    -
    """,
    heads=(
        HeadTable(
            _masked,
            """
            cls.predictions.transform.dense.*        heads.masked.dense.*
            cls.predictions.transform.LayerNorm.*    heads.masked.norm.*
            cls.predictions.decoder.*                heads.masked.out.*
            cls.predictions.bias                     heads.masked.out.bias?
            """,
        ),
        HeadTable(
            _classify,
            """
            pooler.dense.*                           heads.classify.dense.*
            classifier.*                             heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        HeadTable(
            lambda file: classes(file, task=Task.TOKENS),
            "classifier.*                            heads.tokens.out.*",
            only_for="ForTokenClassification",
        ),
        HeadTable(_pool, "pooler.dense.*                 heads.pool.dense.*"),
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
