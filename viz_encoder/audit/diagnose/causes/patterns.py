"""Who may look at whom, besides padding: the causes."""

PATTERNS = {
    "sees_next": (
        "off by one: token i sees token i + 1",
        "torch.triu(ones, diagonal=1) where True = ignored; torch.tril(ones) where True = keep.",
    ),
    "sees_self": (
        "off by one: token i sees itself",
        "torch.triu(ones) where True = ignored; torch.tril(ones, diagonal=-1) where True = keep: "
        "key < query, not key <= query.",
    ),
    "misses_self": (
        "off by one: token i does not see itself",
        "torch.triu(ones, diagonal=1) where True = ignored; torch.tril(ones) where True = keep.",
    ),
    "reversed": (
        "it looks ahead where it should look back: the wrong triangle is masked",
        "torch.tril where True = may attend; torch.triu(diagonal=1) where True = ignored.",
    ),
    "window": (
        "the window has a different width than intended",
        "One-sided, w keys with the token itself: 0 <= i - j < w. Two-sided, r keys on each "
        "side (2r + 1 in all): abs(i - j) <= r.",
    ),
    "window_lost": (
        "the window is lost",
        "Combine it with what takes its place: causal & (i - j < w). is_causal=True has no window, "
        "and may replace a mask that has one.",
    ),
    "window_shifted": (
        "the window is off by one position",
        "One-sided, w keys with the token itself: 0 <= i - j < w. Two-sided, r keys on each "
        "side (2r + 1 in all): abs(i - j) <= r.",
    ),
    "one_sided": (
        "the window is open on one side only, but both sides were meant",
        "Take the distance without its sign, (i - j).abs() <= w, and add no causal mask.",
    ),
    "causal_lost": (
        "keys after the token are open, as in a window to both sides",
        "Combine it with torch.tril(ones).",
    ),
    "causal_added": (
        "keys after the token are closed: a causal mask replaced or joined yours",
        "Look for torch.tril in what is passed, and for is_causal=True, which is a hint that may "
        "replace attn_mask.",
    ),
    "corner": (
        "the causal mask is aligned to the wrong corner: queries that stand at the end of more "
        "keys are counted from the first key",
        "torch.ones(n_queries, n_keys).tril(n_keys - n_queries).bool(); is_causal=True counts from "
        "the first key.",
    ),
    "blocks": (
        "it is causal from block to block only: a token sees its own block to the end",
        "Compare positions and not blocks: query >= key, at least in the blocks on the diagonal.",
    ),
    "tiles": (
        "each block of keys has a causal mask of its own",
        "Of blocks of keys, as in ring attention: those before the queries' block are open, their "
        "own is causal, and those behind it are left out.",
    ),
    "chunks": (
        "the chunks are not as meant",
        "With chunks of c tokens, chunk = place // c: chunk[None, :] <= chunk[:, None] sees its "
        "own chunk and those before it, and nothing of the next.",
    ),
    "stride": (
        "the pattern has a different stride (dilation) than intended",
        "Every d-th key, r of them on each side: (i - j) % d == 0 and abs(i - j) <= r * d.",
    ),
    "frames": (
        "blocks of tokens, such as frames, look at other blocks than meant",
        "Take keys frame by frame: k.view(batch, n_frames, n_tokens, d)[:, former], with former = "
        "(torch.arange(n_frames) - 1).clamp(min=0) for the frame before; in a mask, frame = place "
        "// n_tokens.",
    ),
    "pattern_moved": (
        "the pattern of who may attend to whom stands beside its tokens",
        "Where a token is put in front, such as [CLS] or a graph's own node, move the pattern on: "
        "F.pad(pattern, (1, 0, 1, 0), value=True).",
    ),
    "edges_one_way": (
        "each edge of the graph is open in one direction only, and both were meant",
        "Edges that are stored once need their reverse, too: adjacency | adjacency.mT.",
    ),
    "edges_both_ways": (
        "edges of the graph are open in both directions, and one was meant",
        "No adjacency | adjacency.mT, and no list of edges that has their reverse, too.",
    ),
    "self_loops": (
        "whether a token sees itself is not as meant",
        "Nodes that see themselves: adjacency | torch.eye(n_tokens).bool(); else adjacency & "
        "~torch.eye(n_tokens).bool().",
    ),
    "hops": (
        "tokens see the neighbors of their neighbors, too",
        "One layer looks one edge far: adjacency, not (adjacency @ adjacency) > 0; of cells of a "
        "grid, neighbors up to r away, not up to 2 * r.",
    ),
    "one_row": (
        "one token sees what it may not, and all others see what they may",
        "Give its row the padding mask, too: F.pad(valid, (1, 0), value=True)[:, None, :] for all "
        "rows, and no torch.ones for the row of [CLS].",
    ),
    "closed_keys": (
        "tokens at certain places are closed to all others",
        "Where tokens are put in, such as those of a picture, put as many True into the mask.",
    ),
    "edge": (
        "tokens at the edge of the sequence are treated differently from those in the middle",
        "Both ends need the same rule as the middle: [CLS] and [SEP] are no padding, so keep them "
        "in the mask; pad before windows are cut, or clamp their borders.",
    ),
    "one_way": (
        "global tokens work in one direction only",
        "Open both: allowed[:, glob, :] = True (they look at all) and allowed[:, :, glob] = True "
        "(all look at them).",
    ),
    "globals_lost": (
        "global tokens are left out: only the window is open",
        "Open both: allowed[:, glob, :] = True (they look at all) and allowed[:, :, glob] = True "
        "(all look at them).",
    ),
    "order": (
        "the mask is in a different order from the tokens",
        "Put both into the same order: x.flip(1) with mask.flip(-1), and mask.flip(-2, -1) where "
        "it is (query, key); likewise roll, or x[:, order] with mask[:, order].",
    ),
    "pattern_places": (
        "the pattern (documents, blocks or global tokens) is applied to all positions, padding "
        "included",
        "Count real tokens: place = valid.cumsum(dim=1) - 1, not torch.arange(n_tokens).",
    ),
    "other_layer": (
        "a layer uses the mask of another layer",
        "Take each layer's own mask, by its number or kind: masks[number], in the order of "
        "the layers.",
    ),
}
