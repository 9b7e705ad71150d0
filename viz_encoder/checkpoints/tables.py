"""Data that several families share, so that each family's file holds only its differences."""

from collections.abc import Callable
from reprlib import repr as shown
from typing import Any

from torch import Tensor

from viz_encoder.checkpoints.family import CarriedHead, Json, Shapes, activation, classes
from viz_encoder.config import Activation, EncoderConfig, HeadConfig, HeadPool, Task
from viz_encoder.errors import KeyMismatch

# Settings that files of BERT-base and its kin leave out.
BERT_SIZES: dict[str, Any] = {
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
    "pad_token_id": 0,
}
# And those that files of ViT-base and its kin leave out.
PICTURE_SIZES: dict[str, Any] = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "image_size": 224,
    "patch_size": 16,
    "num_channels": 3,
}
BERT_DEFAULTS = {**BERT_SIZES, "position_embedding_type": "absolute", "is_decoder": False}

# Words, positions and the norm that follows them, as BERT's kin name them.
WORDS_AND_POSITIONS = """
    embeddings.word_embeddings.weight               embed.tokens.word.weight
    embeddings.position_embeddings.weight           embed.position
    embeddings.position_ids                         buffer
    embeddings.LayerNorm.*                          embed.norm.*
"""
SEGMENTS = """
    embeddings.token_type_embeddings.weight         embed.tokens.segment.weight
"""
FEED_FORWARD = """
    encoder.layer.#.intermediate.dense.*            layers.#.ff.up.*
    encoder.layer.#.output.dense.*                  layers.#.ff.down.*
    encoder.layer.#.output.LayerNorm.*              layers.#.ff_norm.*
"""
# BERT's embeddings and layers: RoBERTa's and ELECTRA's too.
BERT = f"""
    {WORDS_AND_POSITIONS}
    {SEGMENTS}
    encoder.layer.#.attention.self.query.*          layers.#.attn.q.*
    encoder.layer.#.attention.self.key.*            layers.#.attn.k.*
    encoder.layer.#.attention.self.value.*          layers.#.attn.v.*
    encoder.layer.#.attention.output.dense.*        layers.#.attn.o.*
    encoder.layer.#.attention.output.LayerNorm.*    layers.#.attn_norm.*
    {FEED_FORWARD}
"""
# Tensors of heads that no head of ours reads, where none claims them before.
NO_HEADS = """
    classifier.*                                    -  classification head
    qa_outputs.*                                    -  question-answering head
"""
POOLER = "pooler.dense.*                            heads.pool.dense.*"
POOLER_CLASSES = """
    pooler.dense.*                                  heads.classify.dense.*
    classifier.*                                    heads.classify.out.*
"""
DENSE_CLASSES = """
    classifier.dense.*                              heads.classify.dense.*
    classifier.out_proj.*                           heads.classify.out.*
"""
LM_HEAD = """
    lm_head.dense.*                                 heads.masked.dense.*
    lm_head.layer_norm.*                            heads.masked.norm.*
    lm_head.decoder.*                               heads.masked.out.*
    lm_head.bias                                    heads.masked.out.bias?
"""
# The layers of both halves of CLIP, and of SigLIP.
CLIP = """
    encoder.layers.#.self_attn.q_proj.*      layers.#.attn.q.*
    encoder.layers.#.self_attn.k_proj.*      layers.#.attn.k.*
    encoder.layers.#.self_attn.v_proj.*      layers.#.attn.v.*
    encoder.layers.#.self_attn.out_proj.*    layers.#.attn.o.*
    encoder.layers.#.layer_norm1.*           layers.#.attn_norm.*
    encoder.layers.#.mlp.fc1.*               layers.#.ff.up.*
    encoder.layers.#.mlp.fc2.*               layers.#.ff.down.*
    encoder.layers.#.layer_norm2.*           layers.#.ff_norm.*
    embeddings.position_embedding.weight     embed.position
    embeddings.position_ids                  buffer
    logit_scale                              -  scale of the image-text similarity
"""


def masked(
    width: str = "hidden_size", act: str | Activation = "hidden_act"
) -> Callable[[Json], HeadConfig]:
    """BERT's masked-token head: dense, activation, norm, a score for each word.

    `width` names the setting of the dense layer's width; `act` that of its activation, or is it.
    """

    def config(file: Json) -> HeadConfig:
        applied = act if isinstance(act, Activation) else activation(file[act])
        return HeadConfig(
            Task.MASKED,
            d_dense=file[width],
            activation=applied,
            norm=True,
            n_out=file["vocab_size"],
        )

    return config


def first_token_classes(
    act: Activation, width: str = "hidden_size"
) -> Callable[[Json], HeadConfig]:
    """Classifier on the first token through a dense layer, whose width that setting is."""
    first = {"task": Task.CLASSIFY, "pool": HeadPool.CLS, "activation": act}
    return lambda file: classes(file, d_dense=file[width], **first)


def pooler(file: Json) -> HeadConfig:
    """BERT's pooler: the first token through a dense layer and tanh."""
    width = file["hidden_size"]
    return HeadConfig(Task.POOL, HeadPool.CLS, d_dense=width, activation=Activation.TANH)


def require_positions(file: Json, found: Shapes) -> Json:
    """Refuse rows other than promised: `past_padding` cuts them, so no later check would see it."""
    promised = file.get("max_position_embeddings", BERT_SIZES["max_position_embeddings"])
    rows = "embeddings.position_embeddings.weight"
    for name, shape in found.items():
        if name.endswith(rows) and tuple(shape[:1]) != (promised,):
            raise KeyMismatch(
                f"config.json says max_position_embeddings = {shown(promised)}, but the file's "
                f"table is {tuple(shape)}. Check that the two belong together."
            )
    return file


def past_padding(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Drop the rows up to the padding's, which no real token uses."""
    table = tensors.get("embed.position")
    if table is None:
        return tensors
    return {**tensors, "embed.position": table[len(table) - config.max_positions :]}


def labels_of_picture(pool: HeadPool) -> CarriedHead:
    """A linear classifier of pictures, on what is pooled so."""
    return CarriedHead(
        lambda file: classes(file, task=Task.CLASSIFY, pool=pool),
        "classifier.*    heads.classify.out.*",
    )


pooler_classes = first_token_classes(Activation.TANH)  # on BERT's pooler output
MASKED_GELU = CarriedHead(masked(act=Activation.GELU), LM_HEAD)
BERT_POOLER = CarriedHead(pooler, POOLER)
BERT_CLASSES = CarriedHead(pooler_classes, POOLER_CLASSES, only_for="ForSequenceClassification")
ROBERTA_CLASSES = CarriedHead(pooler_classes, DENSE_CLASSES)
TOKEN_LABELS = CarriedHead(
    lambda file: classes(file, task=Task.TOKENS),
    "classifier.*    heads.tokens.out.*",
    only_for="ForTokenClassification",
)
