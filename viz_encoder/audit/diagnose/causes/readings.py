"""How a mask is read, combined and applied: the causes."""

READINGS = {
    "inverted": (
        "the model looks exactly where your mask says it may not",
        "Pass ~mask, or 1 - mask of whole numbers. nn.MultiheadAttention and "
        "nn.TransformerEncoder ignore where True; scaled_dot_product_attention keeps where True.",
    ),
    "unsigned": (
        "the mask is unsigned, so what should be below 0, such as mask - 1 or (1 - mask) * -10000, "
        "wraps around to a number above 0, and opens what it should close",
        "Convert it first, (mask.to(x.dtype) - 1) * 1e9, or use masked_fill(mask == 0, "
        "-torch.inf).",
    ),
    "inverted_heads": (
        "some heads look exactly where your mask says they may not, and the others where they "
        "may, as where heads are mixed after masking: a negative factor turns -1e9 into 1e9",
        "Mask last: mix, scale and cap the scores first, then scores.masked_fill(~keep, "
        "-torch.inf).softmax(-1).",
    ),
    "transposed": (
        "rows and columns are swapped: queries are masked instead of keys",
        "Mask the keys: keep[:, None, None, :], not keep[:, None, :, None]; for (query, key) "
        "masks, mask.mT; of edges (source, target), keep[target, source] = True.",
    ),
    "ignored": (
        "every token looks at every token, as with no mask at all",
        "Pass the mask on to the attention call, in the convention that it expects.",
    ),
    "closes_nothing": (
        "the mask that is passed closes nothing: all of it has one value",
        "Make it where the padding is made: ids != pad_id before anything is cut or filled up, or "
        "torch.arange(n_tokens) < lengths[:, None].",
    ),
    "all_closed": (
        "every key is closed, so that no token looks at any",
        "Where a window of 0 or None means no window, add none: mask if window else causal; and of "
        "a mask that is all False, pass none.",
    ),
    "another_id": (
        "the mask is made of another id than that of the padding",
        "mask = ids != tokenizer.pad_token_id, for the tokenizer that pads; ids themselves are no "
        "mask.",
    ),
    "padding_ignored": (
        "the pattern is right, but padding is not masked",
        "Combine both: allowed = pattern & valid[:, None, :].",
    ),
    "pattern_ignored": (
        "padding is masked, but the pattern (causal, window or documents) is not",
        "Combine both: allowed = pattern & valid[:, None, :]. is_causal=True beside attn_mask is "
        "only a hint, and may replace it.",
    ),
    "either_opens": (
        "a key is closed only where the padding mask and the pattern both close it",
        "Where True = may attend, both = pattern & valid[:, None, :]; where True = ignored, both = "
        "hidden | padding[:, None, :].",
    ),
    "other_tensor": (
        "the tensor that is used as the mask is not the one that says what you mean",
        "Pass the one that says it, by its name (attention_mask=…), for the order of arguments "
        "differs between models; or mend the code that makes the other.",
    ),
    "one_unused": (
        "of the masks that are passed, one is not used",
        "Combine them before the attention call: both = one & other, as bool, True = may attend.",
    ),
    "as_passed": (
        "the model follows the mask it is given, and that mask is not what you intend",
        "Fix the code that builds the mask: (made ^ intent(valid)).nonzero() lists the pairs, "
        "with made as a bool mask, True = may attend.",
    ),
    "block_mask": (
        "the blocks were listed for one sample, or by another mask_mod, and compiled kernels "
        "leave out all others",
        "create_block_mask(mask_mod, B=len(valid), H=None, Q_LEN=n_tokens, KV_LEN=n_tokens): "
        "B=None is for a mask_mod that is the same for all samples.",
    ),
    "head_axis": (
        "a (batch, query, key) mask has no axis for the heads, so its samples are taken for heads",
        "mask[:, None], which is (batch, 1, query, key): one mask for all heads of a sample; "
        "mask[:, None, None] for scores (batch, kv head, group, query, key).",
    ),
    "zero_one_added": (
        "0 and 1 are added to the scores: that shifts them by 1 and masks nothing",
        "Pass mask.bool(), or torch.zeros(...).masked_fill(~keep, -torch.inf).",
    ),
    "constant": (
        "masked scores are not negative enough: each keeps about exp(score) of the weight, and "
        "outweighs every key that scores lower",
        "Use a bool mask, torch.finfo(scores.dtype).min or -torch.inf, and mask last: after a cap "
        "(tanh) or scale.",
    ),
    "int_inverted": (
        "~ on whole numbers flips bits: ~0 = -1 and ~1 = -2, and both are True",
        "Use mask == 0, or ~mask.bool().",
    ),
    "overflow": (
        "a number in the code does not fit the dtype: float16 ends at 65,504",
        "Use torch.finfo(scores.dtype).min, or -torch.inf, or a bool mask.",
    ),
    "saturated": (
        "two saturated masks were added: finfo.min + finfo.min = -inf, and a row of -inf is NaN",
        "Combine masks as bool with &, and turn them into numbers once.",
    ),
    "after_softmax": (
        "the mask is applied after the softmax: forbidden keys still take their share of the sum",
        "scores.masked_fill(~keep, -torch.inf) before softmax, nothing after it.",
    ),
    "half_masked": (
        "only a part of this attention is masked",
        "Mask every sum over the keys, the normalizer and a map that is subtracted, too: k = k * m "
        "beside v = v * m, with m = valid[..., None]; and let no padding decay the sum: "
        "g = g.masked_fill(~m, 1).",
    ),
    "wrong_axis": (
        "the softmax runs over queries: columns sum to 1, rows do not",
        "softmax(scores, dim=-1), with scores (batch, head, query, key).",
    ),
    "empty_row": (
        "a row with nothing to attend to gives NaN, and its NaN spreads",
        "Give each row one key (itself), or use scaled_dot_product_attention, which gives zeros.",
    ),
    "even_rows": (
        "all keys of some rows are closed by the same finite number, and a softmax gives equal "
        "scores equal weights, forbidden keys included",
        "Leave each row a key: choose keys (top-k) among those it may see, not before the mask; or "
        "set what such rows give to 0: out * keep.any(dim=-1, keepdim=True).",
    ),
    "open_slots": (
        "the keys were padded, to a whole block, a static cache's length or a window past the "
        "ends, and the mask leaves that padding open",
        "F.pad(keep, (0, filling), value=False), or (filling, 0) for keys in front: close in the "
        "mask what is added to the keys.",
    ),
    "rows_dropped": (
        "rows of attention's result are taken away behind it, as where it is multiplied by a mask "
        "of other tokens",
        "Give back as many rows as there are queries: unpad queries, and mask results, with the "
        "queries' own mask, never with the keys'.",
    ),
    "keys_beside": (
        "the weights stand beside the keys that they belong to",
        "Drop the column that was added: of torch.cat([scores, sink], -1) the last, [..., :-1]; of "
        "torch.cat([sink, scores], -1) the first, [..., 1:].",
    ),
    "path": (
        "two paths of one module treat the mask differently, as where is_causal=True, which is a "
        "hint, replaces attn_mask on one of them",
        "Pass one explicit bool mask and no is_causal.",
    ),
    "mask_dropout": (
        "dropout is applied to the mask, not to the weights, and opens what the mask forbids",
        "F.dropout(scores.masked_fill(~keep, -torch.inf).softmax(-1), p, training): after the "
        "softmax, never before it.",
    ),
    "random": (
        "dropout, or other noise, that ignores eval mode",
        "F.dropout(x, p, training=self.training); dropout_p=p if self.training else 0.0.",
    ),
}
