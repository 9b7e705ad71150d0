"""The known causes of a wrong mask: each in a sentence, with the fix in code."""

from typing import NamedTuple


class Cause(NamedTuple):
    """What is wrong, and the fix."""

    sentence: str
    cure: str


CAUSES = {
    "inverted": Cause(
        "the model looks exactly where your mask says it may not",
        "Pass ~mask, or 1 - mask of whole numbers. nn.MultiheadAttention and "
        "nn.TransformerEncoder ignore where True; scaled_dot_product_attention keeps where True.",
    ),
    "unsigned": Cause(
        "the mask is unsigned: mask - 1 is 255 where it should be -1, and opens what it should "
        "close",
        "Convert it first, (mask.to(x.dtype) - 1) * 1e9, or use masked_fill(mask == 0, "
        "-torch.inf).",
    ),
    "inverted_heads": Cause(
        "some heads look exactly where your mask says they may not, and the others where they "
        "may, as where heads are mixed after masking: a negative factor turns -1e9 into 1e9",
        "Mask last: mix, scale and cap the scores first, then scores.masked_fill(~keep, "
        "-torch.inf).softmax(-1).",
    ),
    "transposed": Cause(
        "rows and columns are swapped: queries are masked instead of keys",
        "Mask the keys: keep[:, None, None, :], not keep[:, None, :, None]; for (query, key) "
        "masks, mask.mT.",
    ),
    "ignored": Cause(
        "every token looks at every token, as with no mask at all",
        "Pass the mask on to the attention call, in the convention that it expects.",
    ),
    "padding_ignored": Cause(
        "the pattern is right, but padding is not masked",
        "Combine both: allowed = pattern & valid[:, None, :].",
    ),
    "pattern_ignored": Cause(
        "padding is masked, but the pattern (causal, window or documents) is not",
        "Combine both: allowed = pattern & valid[:, None, :]. is_causal=True beside attn_mask is "
        "only a hint, and may replace it.",
    ),
    "sees_next": Cause(
        "off by one: token i sees token i + 1",
        "torch.triu(ones, diagonal=1) where True = ignored; torch.tril(ones) where True = keep.",
    ),
    "misses_self": Cause(
        "off by one: token i does not see itself",
        "torch.triu(ones, diagonal=1) where True = ignored; torch.tril(ones) where True = keep.",
    ),
    "window": Cause(
        "the window has a different width than intended",
        "One-sided, w keys with the token itself: 0 <= i - j < w. Two-sided, r keys on each "
        "side (2r + 1 in all): abs(i - j) <= r.",
    ),
    "causal_lost": Cause(
        "keys after the token are open, as in a window to both sides",
        "Combine it with torch.tril(ones).",
    ),
    "causal_added": Cause(
        "keys after the token are closed: a causal mask replaced or joined yours",
        "Look for torch.tril in what is passed, and for is_causal=True, which is a hint that may "
        "replace attn_mask.",
    ),
    "block_mask": Cause(
        "the blocks were listed for one sample, or by another mask_mod, and compiled kernels "
        "leave out all others",
        "create_block_mask(mask_mod, B=len(valid), H=None, Q_LEN=n_tokens, KV_LEN=n_tokens): "
        "B=None is for a mask_mod that is the same for all samples.",
    ),
    "media_before": Cause(
        "a query looks at all pictures before it, where only the last one is meant",
        "text_time[:, :, None] == media_time[:, None, :], not >=.",
    ),
    "media_last": Cause(
        "a query looks at the last picture before it only, where all of those before it are meant",
        "text_time[:, :, None] >= media_time[:, None, :], not ==.",
    ),
    "cross_causal": Cause(
        "cross-attention is causal: a query looks only at the first tokens of the memory",
        "Pass is_causal=False and no causal mask to cross-attention: all of the memory is there "
        "before the first query.",
    ),
    "cross_beside": Cause(
        "what each query may look at in the memory ends one token late or early",
        "Of n tokens that a query may see, the last is memory < n: neither memory <= n nor "
        "memory < n - 1.",
    ),
    "reversed": Cause(
        "it looks ahead where it should look back: the wrong triangle is masked",
        "torch.tril where True = may attend; torch.triu(diagonal=1) where True = ignored.",
    ),
    "one_sided": Cause(
        "the window is open on one side only, but both sides were meant",
        "Take the distance without its sign, (i - j).abs() <= w, and add no causal mask.",
    ),
    "window_shifted": Cause(
        "the window is off by one position",
        "One-sided, w keys with the token itself: 0 <= i - j < w. Two-sided, r keys on each "
        "side (2r + 1 in all): abs(i - j) <= r.",
    ),
    "edge": Cause(
        "tokens at the edge of the sequence are treated differently from those in the middle",
        "Both ends need the same rule as the middle: [CLS] and [SEP] are no padding, so keep them "
        "in the mask; pad before windows are cut, or clamp their borders.",
    ),
    "one_way": Cause(
        "global tokens work in one direction only",
        "Open both: allowed[:, glob, :] = True (they look at all) and allowed[:, :, glob] = True "
        "(all look at them).",
    ),
    "lengths": Cause(
        "the lengths of the samples are off by one",
        "torch.arange(n_tokens) < lengths[:, None], with lengths that count every real token "
        "([CLS] and [SEP] too) and nothing else.",
    ),
    "shifted": Cause(
        "the padding mask is shifted relative to the tokens",
        "Where n tokens are put in front ([CLS], registers, a picture), put their True in front, "
        "too: F.pad(valid, (n, 0), value=True).",
    ),
    "joined": Cause(
        "the parts of the sequence, such as a text and a picture, stand in another order in the "
        "mask than in the tokens",
        "Join both in one order: torch.cat([text, picture], 1) with torch.cat([text_mask, "
        "picture_mask], 1).",
    ),
    "counted": Cause(
        "in the mask, all padding stands at the end; among the tokens, it stands between parts, "
        "such as a text and a picture",
        "Join the masks as the tokens are joined, torch.cat([text_mask, picture_mask], 1); lengths "
        "do not tell where padding in the middle stands.",
    ),
    "reshaped": Cause(
        "the mask is cut into pieces along other axes than the tokens",
        "valid.view(n_samples, n_pieces, n_tokens), as x is cut: no transpose, and no other order.",
    ),
    "fraction": Cause(
        "lengths are stored as shares of the longest, and come back off by one",
        "Round, don't truncate: (share * n_tokens).round().long(); or keep whole numbers.",
    ),
    "rounded": Cause(
        "the lengths of the samples are rounded",
        "Pad to the multiple, but mask by the real lengths: torch.arange(n_tokens) < "
        "lengths[:, None].",
    ),
    "side": Cause(
        "padding is masked on the wrong side of the tokens",
        "Make the mask where the padding is made, or set tokenizer.padding_side to the side that "
        "the mask expects.",
    ),
    "no_side": Cause(
        "what is passed, such as lengths, is the same on whichever side padding stands, so the "
        "model cannot know where it is",
        "Keep padding on one side, or pass a mask (batch, token), which says where it stands.",
    ),
    "side_switched": Cause(
        "the side of the padding has changed during the training",
        'Set it once, tokenizer.padding_side = "right"; where both sides are meant, pass '
        "position_ids that count from the first real token, and take the last real token by its "
        "place, not by [:, -1].",
    ),
    "pattern_places": Cause(
        "the pattern (documents, blocks or global tokens) is applied to all positions, padding "
        "included",
        "Count real tokens: place = valid.cumsum(dim=1) - 1, not torch.arange(n_tokens).",
    ),
    "order": Cause(
        "the mask is in a different order from the tokens",
        "Put both into the same order: x.flip(1) with mask.flip(-1), and mask.flip(-2, -1) where "
        "it is (query, key); likewise roll, or x[:, order] with mask[:, order].",
    ),
    "blocks": Cause(
        "it is causal from block to block only: a token sees its own block to the end",
        "Compare positions and not blocks: query >= key, at least in the blocks on the diagonal.",
    ),
    "other_tensor": Cause(
        "the tensor that is used as the mask is not the one that says what you mean",
        "Pass the one that says it, by its name (attention_mask=…), for the order of arguments "
        "differs between models; or mend the code that makes the other.",
    ),
    "one_unused": Cause(
        "of the masks that are passed, one is not used",
        "Combine them before the attention call: both = one & other, as bool, True = may attend.",
    ),
    "as_passed": Cause(
        "the model follows the mask it is given, and that mask is not what you intend",
        "Fix the code that builds the mask: (made ^ intent(valid)).nonzero() lists the pairs, "
        "with made as a bool mask, True = may attend.",
    ),
    "random": Cause(
        "dropout, or other noise, that ignores eval mode",
        "F.dropout(x, p, training=self.training); dropout_p=p if self.training else 0.0.",
    ),
    "kept": Cause(
        "something of an earlier call is used again, such as its mask",
        "Make the mask in each call; where it is kept, look it up by all that it depends on.",
    ),
    "sorted": Cause(
        "the masks are sorted by length and the samples are not, or the other way around",
        "Sort x and the mask in the same order, or neither; undo the sorting on the output.",
    ),
    "windows_unmasked": Cause(
        "the windows are shifted and not masked: what the roll has brought together sees each "
        "other",
        "Mask it in every shifted layer: regions[:, :, None] == regions[:, None, :], with regions "
        "cut into windows like x.",
    ),
    "windows_axes": Cause(
        "the regions of the shifted windows are cut along the wrong axes",
        "img = torch.zeros(1, H, W, 1); img[:, rows, columns, :] = count, for the height and width "
        "that run, in this order.",
    ),
    "windows_late": Cause(
        "the picture is padded after it was rolled, so that what was wrapped around lies inside",
        "x = F.pad(x, …) first, then x.roll(-shift, (1, 2)); roll back before the padding is cut "
        "off.",
    ),
    "windows_shift_mask": Cause(
        "a layer whose windows are not shifted has the mask of shifted ones",
        "attn_mask = shifted_mask if self.shift_size > 0 else None.",
    ),
    "windows_shift": Cause(
        "the windows are not shifted as meant",
        "Roll by -shift before the windows are cut and by +shift after; every second layer has "
        "shift = size // 2, the others 0.",
    ),
    "windows_size": Cause(
        "the windows have a different size than intended",
        "Cut by the size that was meant, and let no picture be smaller than a window.",
    ),
    "input_unused": Cause(
        "something else that is as long as the input, such as a prefix or a cache, is read in its "
        "place",
        "Don't tell a cache from the input by its length, as by past.shape[2] == x.shape[1]; pass "
        "an argument that says which it is.",
    ),
    "cached_mask": Cause(
        "the mask of an earlier batch is reused",
        "Build the mask in every forward pass from what is passed, or cache only what depends "
        "on the length alone.",
    ),
    "in_place": Cause(
        "a tensor is changed in place, so the next layer or call gets a different one",
        "Write a new one: mask = mask & other for mask &= other, mask.masked_fill(…) for "
        "mask.masked_fill_(…), and mask = mask.clone() before mask[…] = ….",
    ),
    "batch_divisor": Cause(
        "a sum over one sample is divided by the count of the whole batch",
        "Divide by the sample's own count: out.sum(1) / valid.sum(1, keepdim=True).",
    ),
    "batch_of_one": Cause(
        "the result is right for a batch of one and wrong for a larger batch",
        "Look for what is made of sample 0 alone, squeezed, or flattened over the batch: mask[0], "
        "mask.squeeze(), ids.view(-1); keep the batch axis, and index it by sample.",
    ),
    "one_sample": Cause(
        "in a batch of one sample the mask is left out, or loses its batch axis",
        "Pass the mask on for every batch size, and keep its axes: mask[:, None, None, :], not "
        "mask.squeeze().",
    ),
    "mask_batch": Cause(
        "the mask has batch size 1 where the code needs one per sample",
        "Expand it before it is cut or indexed: mask.expand(len(x), -1, -1).chunk(n); or leave it "
        "whole.",
    ),
    "of_first": Cause(
        "all samples use what is made of the mask of sample 0, such as its positions",
        "Make it for each sample, (batch, token), and index it by sample: not positions[0] or "
        "positions[:1], nor cos and sin of them.",
    ),
    "over_batch": Cause(
        "an operation runs across the samples of the batch",
        "Take means, norms and softmax over dim=1 or dim=-1, never over dim=0.",
    ),
    "sample_order": Cause(
        "outputs come back in a different order from the samples",
        "Undo the sorting: out[order.argsort()].",
    ),
    "mask_dropout": Cause(
        "dropout is applied to the mask, not to the weights, and opens what the mask forbids",
        "F.dropout(scores.masked_fill(~keep, -torch.inf).softmax(-1), p, training): after the "
        "softmax, never before it.",
    ),
    "positions_packed": Cause(
        "positions continue from one packed document to the next",
        "Count the positions of each document from 0: position_ids restart at each one.",
    ),
    "repeat": Cause(
        "heads use the masks of other samples, in the order of mask.repeat: head h of sample b has "
        "that of sample (b * n_heads + h) % batch",
        "mask.repeat_interleave(n_heads, dim=0): torch puts the heads of one sample together.",
    ),
    "copies": Cause(
        "copies of a sample, as under classifier-free guidance, use the masks of other samples: "
        "one is in the order of repeat, the other in that of repeat_interleave",
        "Repeat x and the mask alike: both by repeat_interleave(n, dim=0), or both by torch.cat "
        "([…, …]) or repeat(n, 1).",
    ),
    "longest_sample": Cause(
        "all samples use the pattern of the longest one",
        "Keep what depends on the sample per sample, (batch, 1): no .max() over the batch.",
    ),
    "other_layer": Cause(
        "a layer uses the mask of another layer",
        "Take each layer's own mask, by its number or kind: masks[number], in the order of "
        "the layers.",
    ),
    "stride": Cause(
        "the pattern has a different stride (dilation) than intended",
        "Every d-th key, r of them on each side: (i - j) % d == 0 and abs(i - j) <= r * d.",
    ),
    "chunks": Cause(
        "the chunks are not as meant",
        "With chunks of c tokens, chunk = place // c: chunk[None, :] <= chunk[:, None] sees its "
        "own chunk and those before it, and nothing of the next.",
    ),
    "corner": Cause(
        "the causal mask is aligned to the wrong corner: queries that stand at the end of more "
        "keys are counted from the first key",
        "torch.ones(n_queries, n_keys).tril(n_keys - n_queries).bool(); is_causal=True counts from "
        "the first key.",
    ),
    "globals_lost": Cause(
        "global tokens are left out: only the window is open",
        "Open both: allowed[:, glob, :] = True (they look at all) and allowed[:, :, glob] = True "
        "(all look at them).",
    ),
    "other_sample": Cause(
        "some samples use the mask of another sample",
        "Index the mask by sample, and expand it over heads: mask[:, None].expand(-1, n_heads, "
        "-1, -1).",
    ),
    "first_sample": Cause(
        "all samples use the mask of sample 0",
        "Build the mask for the whole batch: (batch, 1, query, key), not mask[0].",
    ),
    "zero_one_added": Cause(
        "0 and 1 are added to the scores: that shifts them by 1 and masks nothing",
        "Pass mask.bool(), or torch.zeros(...).masked_fill(~keep, -torch.inf).",
    ),
    "constant": Cause(
        "masked scores are not negative enough: each keeps about exp(score) of the weight, and "
        "outweighs every key that scores lower",
        "Use a bool mask, torch.finfo(scores.dtype).min or -torch.inf, and mask last: after a cap "
        "(tanh) or scale.",
    ),
    "int_inverted": Cause(
        "~ on whole numbers flips bits: ~0 = -1 and ~1 = -2, and both are True",
        "Use mask == 0, or ~mask.bool().",
    ),
    "overflow": Cause(
        "a number in the code does not fit the dtype: float16 ends at 65,504",
        "Use torch.finfo(scores.dtype).min, or -torch.inf, or a bool mask.",
    ),
    "saturated": Cause(
        "two saturated masks were added: finfo.min + finfo.min = -inf, and a row of -inf is NaN",
        "Combine masks as bool with &, and turn them into numbers once.",
    ),
    "open_slots": Cause(
        "the keys were padded to a whole block or a static cache's length, and the mask leaves "
        "that padding open",
        "F.pad(keep, (0, filling), value=False): close in the mask what is added to the keys.",
    ),
    "groups_joined": Cause(
        "groups of tokens that see all of themselves, such as pictures, see the other groups, too",
        "Number the groups, with -1 for tokens of none: (number[:, :, None] == number[:, None, :]) "
        "& (number >= 0)[:, :, None].",
    ),
    "group_window": Cause(
        "groups of tokens that see all of themselves, such as pictures, do so beyond the window, "
        "too",
        "Apply the window last: (causal | same_group) & ((i - j).abs() < w).",
    ),
    "group_cut": Cause(
        "the window cuts groups of tokens that should see all of themselves, such as pictures",
        "Apply the window to the causal part alone: (causal & (i - j < w)) | same_group.",
    ),
    "prefix_opened": Cause(
        "the columns of the prefix are opened to all tokens, and with them what the mask had "
        "closed there: padding, or tokens beyond the window",
        "mask | (prefix[:, :, None] & prefix[:, None, :]), with prefix True for real tokens only: "
        "padding often has the token type of the prefix, 0.",
    ),
    "prefix_rows": Cause(
        "the tokens of the prefix see the text behind it, too",
        "mask | (prefix[:, :, None] & prefix[:, None, :]): open the prefix's queries for the "
        "prefix's keys alone.",
    ),
    "prefix_length": Cause(
        "the prefix has another length than intended",
        "Count its tokens once, and say whether its separator is among them: place < n_prefix.",
    ),
    "by_distance": Cause(
        "keys are taken by their distance along the sequence alone, so the end of each row of a "
        "picture (or of each block) sees the start of the next",
        "Compare rows and columns: row, column = place // width, place % width; ((row[:, None] - "
        "row).abs() <= r) & ((column[:, None] - column).abs() <= r).",
    ),
    "folded": Cause(
        "tokens are folded into groups along the wrong axis: neighbors are taken where every n-th "
        "token was meant, or the other way around",
        "x.unflatten(1, (frames, patches)).transpose(1, 2).flatten(0, 1), and back the same way: "
        "reshape alone exchanges no axes.",
    ),
    "keys_beside": Cause(
        "the weights stand beside the keys that they belong to",
        "Drop the column that was added: of torch.cat([scores, sink], -1) the last, [..., :-1]; of "
        "torch.cat([sink, scores], -1) the first, [..., 1:].",
    ),
    "padding_numbered": Cause(
        "padding has the number of a document, which therefore sees it",
        "Give it a number of its own: document.masked_fill(~valid, -1).",
    ),
    "documents": Cause(
        "packed documents are not separated",
        "allowed = document[:, :, None] == document[:, None, :]; position_ids alone separate "
        "nothing.",
    ),
    "document_edges": Cause(
        "the edges of the documents are off by one token",
        "torch.searchsorted(cu_seqlens, place, right=True) - 1: without right=True the first token "
        "of a document is counted with the document before it.",
    ),
    "after_softmax": Cause(
        "the mask is applied after the softmax: forbidden keys still take their share of the sum",
        "scores.masked_fill(~keep, -torch.inf) before softmax, nothing after it.",
    ),
    "half_masked": Cause(
        "only a part of this attention is masked",
        "Mask every sum over the keys, the normalizer, too: k = k * m beside v = v * m, with m = "
        "valid[..., None].",
    ),
    "wrong_axis": Cause(
        "the softmax runs over queries: columns sum to 1, rows do not",
        "softmax(scores, dim=-1), with scores (batch, head, query, key).",
    ),
    "empty_row": Cause(
        "a row with nothing to attend to gives NaN, and its NaN spreads",
        "Give each row one key (itself), or use scaled_dot_product_attention, which gives zeros.",
    ),
    "pooling": Cause(
        "padding has a share in the pooled vector, though no real token looks at it",
        "Of a mean: (out * m).sum(1) / m.sum(1), with m = valid[..., None]; of a maximum: "
        "out.masked_fill(~m, -torch.inf).amax(1); of one row, such as [CLS]: mask padding in the "
        "attention that makes it.",
    ),
    "pooling_weights": Cause(
        "the weights by which tokens are pooled are not masked, so padding has a share",
        "Mask the scores before their softmax: scores.masked_fill(~valid, -torch.inf), with scores "
        "(batch, token); of nn.MultiheadAttention key_padding_mask=~valid.",
    ),
    "pooling_beside": Cause(
        "the softmax by which tokens are pooled gives padding no weight, and padding has a share "
        "in another way, such as a mean or deviation over all tokens",
        "Take them of real tokens, m = valid[..., None]; mean = (x * m).sum(1) / m.sum(1), also "
        "where only the weights are made of them.",
    ),
    "pooled_places": Cause(
        "which tokens are pooled is counted from the first place, and not from the first real "
        "token",
        "Count real tokens: place = valid.cumsum(dim=1) - 1; of the real ones, the first n are "
        "place < n, and the last is place == valid.sum(1, keepdim=True) - 1.",
    ),
    "pooled_max": Cause(
        "padding takes part in a maximum over tokens, as where its scores are 0",
        "scores.masked_fill(~valid[:, None], -torch.inf).amax(-1): 0 is larger than any negative "
        "score.",
    ),
    "packed_order": Cause(
        "the lengths of packed samples (cu_seqlens) are in another order than the samples",
        "Take cu_seqlens of the lengths as the samples are packed, F.pad(lengths.cumsum(0), (1, "
        "0)); if lengths are sorted, sort the samples likewise.",
    ),
    "packed_first": Cause(
        "packed samples are separated at the first border only, and all behind it are one",
        "Cut at each border, not at cu_seqlens[1] alone: zip(cu_seqlens[:-1], cu_seqlens[1:]).",
    ),
    "norm": Cause(
        "a norm takes its mean and variance over tokens, so each token knows of all, padding too",
        "nn.LayerNorm(d_model), which norms each token by itself; or the mean and variance of real "
        "tokens: m = valid[..., None]; mean = (x * m).sum(1, True) / m.sum(1, True).",
    ),
    "positions": Cause(
        "positions count the padding: a token's position, or the row that is pooled, is counted "
        "from the first place instead of from the first real token",
        "Pass position_ids that count from the first real token: "
        "(valid.cumsum(1) - 1).clamp(min=0)",
    ),
    "path": Cause(
        "two paths of one module treat the mask differently, as where is_causal=True, which is a "
        "hint, replaces attn_mask on one of them",
        "Pass one explicit bool mask and no is_causal.",
    ),
    "open_piece": Cause(
        "rows of a piece of several tokens see later tokens of the same piece: the causal mask is "
        "missing there, or a ring buffer overwrites keys before they are read",
        "Pass the causal mask for pieces of several tokens, too: torch.ones(n_queries, "
        "n_keys).tril(n_keys - n_queries).bool(); read a ring buffer before it is overwritten.",
    ),
    "cache_padding": Cause(
        "with a cache, the padding of the prompt is no longer masked",
        "Pass a mask over all tokens so far, (batch, cached + new), not only over the new ones.",
    ),
    "head_axis": Cause(
        "a (batch, query, key) mask has no axis for the heads, so its samples are taken for heads",
        "mask[:, None], which is (batch, 1, query, key): one mask for all heads of a sample; "
        "mask[:, None, None] for scores (batch, kv head, group, query, key).",
    ),
    "ids": Cause(
        "the model takes token ids, and the audit gave it vectors",
        "inputs=viz_encoder.audit.AuditInputs(vocab_size=…), in place of d_model=.",
    ),
    "length": Cause(
        "the model does not take as many tokens as the audit chose",
        "scope=viz_encoder.audit.AuditScope(lengths=[…]), with the numbers of tokens it takes.",
    ),
    "axes": Cause(
        "batch and sequence axes are mixed up",
        "Set batch_first=True, or pass x.transpose(0, 1); a (batch, token) mask is a "
        "key_padding_mask, not an attn_mask.",
    ),
    "beam": Cause(
        "the cache, or the mask beside it, is not put into the order of the beams in every layer",
        "Index keys, values, positions and mask of every layer with order, along the batch.",
    ),
    "bias_lost": Cause(
        "the bias is not added to the scores",
        "scores + bias, before the softmax; a mask that is added must not replace it.",
    ),
    "bias_sign": Cause(
        "the bias has the wrong sign: distant tokens get more attention instead of less",
        "-slope * distance, with slope > 0.",
    ),
    "bias_scale": Cause(
        "the bias is too large or too small by the same factor everywhere",
        "q @ k.mT / math.sqrt(d) + bias: add the bias after the scores are divided by √d, and "
        "don't multiply it; scaled_dot_product_attention(attn_mask=bias) adds it as it is.",
    ),
    "bias_heads": Cause(
        "heads have each other's bias",
        "slopes[None, :, None, None], in the order of the heads.",
    ),
    "bias_transposed": Cause(
        "the bias of the pair (key, query) is added to (query, key)",
        "bias.mT; in (query, key), rows are queries.",
    ),
    "bias_clipped": Cause(
        "the bias stops changing beyond some distance",
        "Let the distance grow with the text: slope * (query - key).abs(), without clamp, or with "
        "a table of as many distances as there may be.",
    ),
    "pooled_special": Cause(
        "tokens that should be left out have a share in the pooled vector",
        "Of a mean: (out * m).sum(1) / m.sum(1), with m = pool_over(valid)[..., None]; of "
        "attention: scores.masked_fill(~pool_over(valid), -torch.inf), before the softmax.",
    ),
}
