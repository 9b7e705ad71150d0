"""SigLIP (Zhai et al., 2023, arXiv:2303.15343): CLIP trained on pairs one by one; no [CLS]."""

from viz_encoder.checkpoints import family
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.checkpoints.picture import join_tokens, vit_encoder
from viz_encoder.checkpoints.tables import CLIP, PICTURE_SIZES, labels_of_picture
from viz_encoder.config import HeadConfig, HeadPool, Task


def _pool(file: Json) -> HeadConfig:
    width = file["projection_size"]
    width = file["hidden_size"] if width is None else width
    return HeadConfig(Task.POOL, HeadPool.LAST, n_out=width)


DEFAULTS = {
    **PICTURE_SIZES,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
    "attention_dropout": 0.0,
}
LAYERS = f"""{CLIP}
    logit_bias                               -  bias of the image-text similarity
"""
# A learned query looks at the patches: nn.MultiheadAttention, then norm and feed-forward network.
PROBE = """
    head.probe                               heads.pool.probe.query
    head.attention.in_proj_weight            heads.pool.probe.q|k|v.weight
    head.attention.in_proj_bias              heads.pool.probe.q|k|v.bias
    head.attention.out_proj.*                heads.pool.probe.o.*
    head.layernorm.*                         heads.pool.probe.norm.*
    head.mlp.fc1.*                           heads.pool.probe.ff.up.*
    head.mlp.fc2.*                           heads.pool.probe.ff.down.*
"""

VISION = Family(
    model_types=("siglip_vision_model",),
    defaults=DEFAULTS,
    config=lambda file: vit_encoder(file, dropout=file["attention_dropout"]),
    optional_prefixes=("vision_model.",),
    tensors="""
        embeddings.patch_embedding.*         embed.tokens.patch.*
        post_layernorm.*                     final_norm.*
        text_model.*                         -  text tower
    """
    + LAYERS,
    heads=(
        CarriedHead(lambda file: HeadConfig(Task.POOL, HeadPool.PROBE), PROBE),
        labels_of_picture(HeadPool.MEAN),
    ),
    adapt=join_tokens,
    part_of=("siglip", "vision"),
    run=family.states_of_tower("vision"),
)

# The text model was trained on texts padded to 64 tokens, without a mask: it attends to the
# padding, and reads the text's vector at the last token, which mostly is one of padding.
TEXT = Family(
    model_types=("siglip_text_model",),
    defaults={
        **DEFAULTS,
        "vocab_size": 32000,
        "max_position_embeddings": 64,
        "pad_token_id": 1,
        "projection_size": None,
    },
    config=family.tower_of_texts,
    optional_prefixes=("text_model.",),
    tensors="""
        embeddings.token_embedding.weight    embed.tokens.word.weight
        final_layer_norm.*                   final_norm.*
        vision_model.*                       -  vision tower
        classifier.*                         -  classification head
    """
    + LAYERS,
    heads=(CarriedHead(_pool, "head.*         heads.pool.out.*"),),
    part_of=("siglip", "text"),
    run=family.states_of_tower("text"),
    padded_to=64,
)
FAMILIES = (VISION, TEXT)
