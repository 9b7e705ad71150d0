"""Samples of one batch, and calls one after another: the causes."""

SAMPLES = {
    "sorted": (
        "the masks are sorted by length and the samples are not, or the other way around",
        "Sort x and the mask in the same order, or neither; undo the sorting on the output.",
    ),
    "sample_order": (
        "outputs come back in a different order from the samples",
        "Undo the sorting: out[order.argsort()].",
    ),
    "row_order": (
        "real tokens stand in other places inside, and their outputs are not put back",
        "Put them back: out.gather(1, order.argsort(1)[:, :, None].expand_as(out)), where order is "
        "what the input was gathered by.",
    ),
    "other_sample": (
        "some samples use the mask of another sample",
        "Index the mask by sample, and expand it over heads: mask[:, None].expand(-1, n_heads, "
        "-1, -1).",
    ),
    "first_sample": (
        "all samples use the mask of sample 0",
        "Build the mask for the whole batch: (batch, 1, query, key), not mask[0].",
    ),
    "of_first": (
        "all samples use what is made of the mask of sample 0, such as its positions",
        "Make it for each sample, (batch, token), and index it by sample: not positions[0] or "
        "positions[:1], nor cos and sin of them.",
    ),
    "longest_sample": (
        "all samples use the pattern of the longest one",
        "Keep what depends on the sample per sample, (batch, 1): no .max() over the batch.",
    ),
    "repeat": (
        "heads use the masks of other samples, in the order of mask.repeat: head h of sample b has "
        "that of sample (b * n_heads + h) % batch",
        "mask.repeat_interleave(n_heads, dim=0): torch puts the heads of one sample together.",
    ),
    "copies": (
        "copies of a sample, as under classifier-free guidance, use the masks of other samples: "
        "one is in the order of repeat, the other in that of repeat_interleave",
        "Repeat x and the mask alike: both by repeat_interleave(n, dim=0), or both by torch.cat "
        "([…, …]) or repeat(n, 1).",
    ),
    "row_samples": (
        "where frames or windows are folded into the batch, keys or their masks stand in rows of "
        "another sample than their queries",
        "Repeat and fold both alike: x.repeat_interleave(n, 0) has the order of (batch, n), and "
        "x.repeat(n, 1, 1) that of (n, batch).",
    ),
    "axes": (
        "batch and sequence axes are mixed up",
        "Set batch_first=True, or pass x.transpose(0, 1); a (batch, token) mask is a "
        "key_padding_mask, not an attn_mask.",
    ),
    "halves": (
        "each sample mixes with the one half a batch away, as where the halves of a batch are "
        "joined or added",
        "Join along tokens only what belongs to one sample: torch.cat(k.chunk(2, dim=0), dim=1) "
        "needs the halves (and both masks) in the same order, and belongs to that model alone.",
    ),
    "over_batch": (
        "an operation runs across the samples of the batch",
        "Take means, norms and softmax over dim=1 or dim=-1, never over dim=0.",
    ),
    "batch_divisor": (
        "a sum over one sample is divided by the count of the whole batch",
        "Divide by the sample's own count: out.sum(1) / valid.sum(1, keepdim=True).",
    ),
    "batch_of_one": (
        "the result is right for a batch of one and wrong for a larger batch",
        "Look for what is made of sample 0 alone, squeezed, or flattened over the batch: mask[0], "
        "mask.squeeze(), ids.view(-1); keep the batch axis, and index it by sample.",
    ),
    "one_sample": (
        "in a batch of one sample the mask is left out, or loses its batch axis",
        "Pass the mask on for every batch size, and keep its axes: mask[:, None, None, :], not "
        "mask.squeeze().",
    ),
    "mask_batch": (
        "the mask has batch size 1 where the code needs one per sample",
        "Expand it before it is cut or indexed: mask.expand(len(x), -1, -1).chunk(n); or leave it "
        "whole.",
    ),
    "kept": (
        "something of an earlier call is used again, such as its mask",
        "Make the mask in each call; where it is kept, look it up by all that it depends on.",
    ),
    "cached_mask": (
        "the mask of an earlier batch is reused",
        "Build the mask in every forward pass from what is passed, or cache only what depends "
        "on the length alone.",
    ),
    "in_place": (
        "a tensor is changed in place, so the next layer or call gets a different one",
        "Write a new one: mask = mask & other for mask &= other, mask.masked_fill(…) for "
        "mask.masked_fill_(…), and mask = mask.clone() before mask[…] = ….",
    ),
}
