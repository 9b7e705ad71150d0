"""Cross-attention, caches, biases and inputs: the causes."""

BESIDES = {
    "media_before": (
        "a query looks at all pictures before it, where only the last one is meant",
        "text_time[:, :, None] == media_time[:, None, :], not >=.",
    ),
    "media_last": (
        "a query looks at the last picture before it only, where all of those before it are meant",
        "text_time[:, :, None] >= media_time[:, None, :], not ==.",
    ),
    "cross_causal": (
        "cross-attention is causal: a query looks only at the first tokens of the memory",
        "Pass is_causal=False and no causal mask to cross-attention: all of the memory is there "
        "before the first query.",
    ),
    "cross_beside": (
        "what each query may look at in the memory ends one token late or early",
        "Of n tokens that a query may see, the last is memory < n: neither memory <= n nor "
        "memory < n - 1.",
    ),
    "memory_only": (
        "no token knows of any other: attention looks at a memory in each layer that was seen",
        "Where a module attends to its own tokens unless it is given a memory, give it none in the "
        "layers of self-attention.",
    ),
    "cross_queries": (
        "cross-attention has the padding mask of its queries in place of the memory's",
        "Pass it that of the memory: memory_key_padding_mask, not tgt_key_padding_mask.",
    ),
    "cross_moved": (
        "queries look at what other queries may look at in the memory",
        "Of chunks of c tokens, the last token of a chunk is the first that may see what was found "
        "for that chunk: queries begin at x[:, c - 1 :], and F.pad(out, (0, 0, c - 1, 0)) puts "
        "them back.",
    ),
    "keys_uncounted": (
        "the mask does not count the keys in front of the tokens, such as a prefix or registers",
        "Of n keys in front: F.pad(mask, (n, 0), value=True).",
    ),
    "input_unused": (
        "something else that is as long as the input, such as a prefix or a cache, is read in its "
        "place",
        "Don't tell a cache from the input by its length, as by past.shape[2] == x.shape[1]; pass "
        "an argument that says which it is.",
    ),
    "open_piece": (
        "rows of a piece of several tokens see later tokens of the same piece: the causal mask is "
        "missing there, or a ring buffer overwrites keys before they are read",
        "Pass the causal mask for pieces of several tokens, too: torch.ones(n_queries, "
        "n_keys).tril(n_keys - n_queries).bool(); read a ring buffer before it is overwritten.",
    ),
    "cache_pattern": (
        "with a cache, a token sees all tokens so far: the window, or what else your intent asks "
        "for, is lost",
        "Count a step's tokens from the start of the text: place = n_cached + torch.arange(n_new); "
        "place[:, None] - torch.arange(n_cached + n_new) < w.",
    ),
    "cache_short": (
        "with a cache, tokens that may still be attended to are dropped, or closed",
        "For a window of w keys, keep the last w - 1 tokens beside the new ones, at the step that "
        "fills the window, too.",
    ),
    "one_sample_step": (
        "with a cache, a batch of one sample is wrong where a larger one is right",
        "Pass the mask on for every batch size, a batch of one and a step of one token, too, and "
        "keep its axes: mask[:, None], not mask.squeeze().",
    ),
    "cache_padding": (
        "with a cache, the padding of the prompt is no longer masked",
        "Pass a mask over all tokens so far, (batch, cached + new), not only over the new ones.",
    ),
    "beam": (
        "the cache, or the mask beside it, is not put into the order of the beams in every layer",
        "Index keys, values, positions and mask of every layer with order, along the batch.",
    ),
    "bias_lost": (
        "the bias is not added to the scores",
        "scores + bias, before the softmax; a mask that is added must not replace it.",
    ),
    "bias_sign": (
        "the bias has the wrong sign: distant tokens get more attention instead of less",
        "-slope * distance, with slope > 0.",
    ),
    "bias_scale": (
        "the bias is too large or too small by the same factor everywhere",
        "q @ k.mT / math.sqrt(d) + bias: add the bias after the scores are divided by √d, and "
        "don't multiply it; scaled_dot_product_attention(attn_mask=bias) adds it as it is.",
    ),
    "bias_slopes": (
        "the bias has another slope in some heads",
        "If the number of heads is not a power of two, take the slopes 2 ** (-8 * n / p) of the "
        "next smaller power p, then every second slope of 2 * p.",
    ),
    "bias_heads": (
        "heads have each other's bias",
        "slopes[None, :, None, None], in the order of the heads.",
    ),
    "bias_transposed": (
        "the bias of the pair (key, query) is added to (query, key)",
        "bias.mT; in (query, key), rows are queries.",
    ),
    "bias_clipped": (
        "the bias stops changing beyond some distance",
        "Let the distance grow with the text: slope * (query - key).abs(), without clamp, or with "
        "a table of as many distances as there may be.",
    ),
    "ids": (
        "the model takes token ids, and the audit gave it vectors",
        "inputs=viz_encoder.audit.AuditInputs(vocab_size=…), in place of d_model=.",
    ),
    "make_mask": (
        "the model takes a mask (batch, token); without make_mask it is given the intent, (batch, "
        "query, key)",
        "make_mask=lambda valid: valid, or whatever your code passes.",
    ),
    "length": (
        "the model does not take as many tokens as the audit chose",
        "scope=viz_encoder.audit.AuditScope(lengths=[…]), with the numbers of tokens it takes.",
    ),
}
