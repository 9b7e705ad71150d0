"""Lengths, sides and pooling of padded samples: the causes."""

PADDING = {
    "lengths": (
        "the lengths of the samples are off",
        "torch.arange(n_tokens) < lengths[:, None], with lengths that count every real token "
        "([CLS] and [SEP] too) and nothing else; behind convolutions (length - kernel) // stride + "
        "1 of each sample, not slices of the padded mask.",
    ),
    "fraction": (
        "lengths are stored as shares of the longest, and come back off by one",
        "Round, don't truncate: (share * n_tokens).round().long(); or keep whole numbers.",
    ),
    "rounded": (
        "the lengths of the samples are rounded",
        "Pad to the multiple, but mask by the real lengths: torch.arange(n_tokens) < "
        "lengths[:, None].",
    ),
    "shifted": (
        "the padding mask is shifted relative to the tokens",
        "Where n tokens are put in front ([CLS], registers, a picture), put their True in front, "
        "too: F.pad(valid, (n, 0), value=True).",
    ),
    "joined": (
        "the parts of the sequence, such as a text and a picture, stand in another order in the "
        "mask than in the tokens",
        "Join both in one order: torch.cat([text, picture], 1) with torch.cat([text_mask, "
        "picture_mask], 1).",
    ),
    "counted": (
        "in the mask, all padding stands at the end; among the tokens, it stands between parts, "
        "such as a text and a picture, or a text and a [CLS] behind it",
        "Join the masks as the tokens are joined, torch.cat([text_mask, picture_mask], 1), or "
        "F.pad(text_mask, (0, 1), value=True) for a [CLS] behind the text, not (1, 0); lengths do "
        "not tell where padding in the middle stands.",
    ),
    "reshaped": (
        "the mask is cut into pieces along other axes than the tokens",
        "valid.view(n_samples, n_pieces, n_tokens), as x is cut: no transpose, and no other order; "
        "for n tokens of each step valid.repeat_interleave(n, 1), not valid.repeat(1, n).",
    ),
    "side": (
        "padding is masked on the wrong side of the tokens",
        "Make the mask where the padding is made, or set tokenizer.padding_side to the side that "
        "the mask expects.",
    ),
    "no_side": (
        "what is passed, such as lengths, is the same on whichever side padding stands, so the "
        "model cannot know where it is",
        "Keep padding on one side, or pass a mask (batch, token), which says where it stands.",
    ),
    "side_switched": (
        "the side of the padding has changed during the training",
        'Set it once, tokenizer.padding_side = "right"; where both sides are meant, pass '
        "position_ids that count from the first real token, and take the last real token by its "
        "place, not by [:, -1].",
    ),
    "not_thinned": (
        "lengths, or the mask, are those from before downsampling",
        "Where every r-th frame is kept: mask[:, ::r], or -(-lengths // r); mask[:, :n] only cuts "
        "it off.",
    ),
    "sampled": (
        "which tokens are read, or attend, is chosen by the tokens, as in deformable or ProbSparse "
        "attention, and padding is among them",
        "value = value.masked_fill(~valid[..., None], 0.0) before values are read at places, or "
        "places that end at the last real token: place.clamp(max=valid.sum(1)[:, None, None] - 1). "
        "To choose queries: measure.masked_fill(~valid[:, None], -torch.inf).topk(n).",
    ),
    "positions": (
        "positions count the padding: a token's position, or the row that is pooled, is counted "
        "from the first place instead of from the first real token",
        "Pass position_ids that count from the first real token: "
        "(valid.cumsum(1) - 1).clamp(min=0)",
    ),
    "pooling": (
        "padding has a share in the pooled vector, though no real token looks at it",
        "Of a mean: (out * m).sum(1) / m.sum(1), with m = valid[..., None]; of a maximum: "
        "out.masked_fill(~m, -torch.inf).amax(1); of one row, such as [CLS]: mask padding in the "
        "attention that makes it.",
    ),
    "pooling_weights": (
        "the weights by which tokens are pooled are not masked, so padding has a share",
        "Mask the scores before their softmax: scores.masked_fill(~valid, -torch.inf), with scores "
        "(batch, token); of nn.MultiheadAttention key_padding_mask=~valid.",
    ),
    "pooling_beside": (
        "the softmax by which tokens are pooled gives padding no weight, and padding has a share "
        "in another way, such as a mean or deviation over all tokens",
        "Take them of real tokens, m = valid[..., None]; mean = (x * m).sum(1) / m.sum(1), also "
        "where only the weights are made of them.",
    ),
    "pooled_places": (
        "which tokens are pooled is counted from the first place, and not from the first real "
        "token",
        "Count real tokens: place = valid.cumsum(dim=1) - 1; of the real ones, the first n are "
        "place < n, and the last is place == valid.sum(1, keepdim=True) - 1.",
    ),
    "pooled_row": (
        "each vector is the row of one fixed place, which is padding in some samples",
        "h[torch.arange(len(h)), place], of the first real token place = valid.int().argmax(1), of "
        "the last valid.shape[1] - 1 - valid.flip(1).int().argmax(1).",
    ),
    "pooled_max": (
        "padding takes part in a maximum over tokens, as where its scores are 0",
        "scores.masked_fill(~valid[:, None], -torch.inf).amax(-1): 0 is larger than any negative "
        "score.",
    ),
    "pooled_special": (
        "tokens that should be left out have a share in the pooled vector",
        "Of a mean: (out * m).sum(1) / m.sum(1), with m = pool_over(valid)[..., None]; of "
        "attention: scores.masked_fill(~pool_over(valid), -torch.inf), before the softmax.",
    ),
    "norm": (
        "a norm takes its mean and variance over tokens, so each token knows of all, padding too",
        "nn.LayerNorm(d_model), which norms each token by itself; or the mean and variance of real "
        "tokens: m = valid[..., None]; mean = (x * m).sum(1, True) / m.sum(1, True).",
    ),
}
