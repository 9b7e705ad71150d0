"""Tensor names that several families share, so that each of their files holds what differs."""

# BERT's embeddings and layers: RoBERTa's and ELECTRA's too.
BERT = """
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
    embeddings.position_ids                  -
    logit_scale                              -
"""
