"""Windows of pictures, grids, groups, prefixes and documents: the causes."""

PARTS = {
    "windows_unmasked": (
        "the windows are shifted and not masked: what the roll has brought together sees each "
        "other",
        "Mask it in every shifted layer: regions[:, :, None] == regions[:, None, :], with regions "
        "cut into windows like x.",
    ),
    "windows_axes": (
        "the regions of the shifted windows are cut along the wrong axes",
        "img = torch.zeros(1, H, W, 1); img[:, rows, columns, :] = count, for the height and width "
        "that run, in this order.",
    ),
    "windows_late": (
        "the picture is padded after it was rolled, so that what was wrapped around lies inside",
        "x = F.pad(x, …) first, then x.roll(-shift, (1, 2)); roll back before the padding is cut "
        "off.",
    ),
    "windows_shift_mask": (
        "a layer whose windows are not shifted has the mask of shifted ones",
        "attn_mask = shifted_mask if self.shift_size > 0 else None.",
    ),
    "windows_shift": (
        "the windows are not shifted as meant",
        "Roll by -shift before the windows are cut and by +shift after; every second layer has "
        "shift = size // 2, the others 0.",
    ),
    "windows_size": (
        "the windows have a different size than intended",
        "Cut by the size that was meant, and let no picture be smaller than a window.",
    ),
    "by_distance": (
        "keys are taken by their distance along the sequence alone, so the end of each row of a "
        "picture (or of each block) sees the start of the next",
        "Compare rows and columns: row, column = place // width, place % width; ((row[:, None] - "
        "row).abs() <= r) & ((column[:, None] - column).abs() <= r).",
    ),
    "folded": (
        "tokens are grouped along the wrong axis of two, such as space in place of time, by the "
        "way they are folded or by their mask",
        "x.unflatten(1, (frames, patches)).transpose(1, 2).flatten(0, 1), and back the same way: "
        "reshape alone exchanges no axes. In a mask, place // patches is the frame and place % "
        "patches the place in it.",
    ),
    "groups_joined": (
        "groups of tokens that see all of themselves, such as pictures, see the other groups, too",
        "Number the groups, with -1 for tokens of none: (number[:, :, None] == number[:, None, :]) "
        "& (number >= 0)[:, :, None].",
    ),
    "group_window": (
        "groups of tokens that see all of themselves, such as pictures, do so beyond the window, "
        "too",
        "Apply the window last: (causal | same_group) & ((i - j).abs() < w).",
    ),
    "group_cut": (
        "the window cuts groups of tokens that should see all of themselves, such as pictures",
        "Apply the window to the causal part alone: (causal & (i - j < w)) | same_group.",
    ),
    "prefix_opened": (
        "the columns of the prefix are opened to all tokens, and with them what the mask had "
        "closed there: padding, or tokens beyond the window",
        "mask | (prefix[:, :, None] & prefix[:, None, :]), with prefix True for real tokens only: "
        "padding often has the token type of the prefix, 0.",
    ),
    "prefix_rows": (
        "the tokens of the prefix see the text behind it, too",
        "mask | (prefix[:, :, None] & prefix[:, None, :]): open the prefix's queries for the "
        "prefix's keys alone.",
    ),
    "prefix_length": (
        "the prefix has another length than intended",
        "Count its tokens once, and say whether its separator is among them: place < n_prefix.",
    ),
    "tree": (
        "a token of a tree, as in speculative decoding, sees others than its ancestors",
        "Open each node's ancestors and itself: keep = torch.eye(n).bool(), then, parents first, "
        "keep[node] |= keep[parent]; a causal mask opens all earlier branches.",
    ),
    "tree_parent": (
        "a token of a tree, as in speculative decoding, sees its parent and not all of its "
        "ancestors",
        "Open what the parent sees, parents first: keep[node] |= keep[parent].",
    ),
    "choices": (
        "choices that share a question (or candidates, or a prefix) see each other",
        "allowed = shared[:, None, :] | (choice[:, :, None] == choice[:, None, :]), with shared "
        "True for the question and choice a number for each token.",
    ),
    "documents": (
        "packed documents, or other parts of one row such as choices, are not separated",
        "allowed = document[:, :, None] == document[:, None, :]; position_ids alone separate "
        "nothing.",
    ),
    "document_edges": (
        "the edges of the documents, or of other groups of tokens, are off by one token",
        "torch.searchsorted(cu_seqlens, place, right=True) - 1: without right=True the first token "
        "of a document or group is counted with the one before it. Of tokens that end one, "
        "end.cumsum(1) - end.",
    ),
    "padding_numbered": (
        "padding has the number of a document, which therefore sees it",
        "Give it a number of its own: document.masked_fill(~valid, -1).",
    ),
    "positions_packed": (
        "positions continue from one packed document to the next",
        "Count the positions of each document from 0: position_ids restart at each one.",
    ),
    "packed_order": (
        "the lengths of packed samples (cu_seqlens) are in another order than the samples",
        "Take cu_seqlens of the lengths as the samples are packed, F.pad(lengths.cumsum(0), (1, "
        "0)); if lengths are sorted, sort the samples likewise.",
    ),
    "packed_borders": (
        "packed samples (cu_seqlens) are cut at other places than where they end",
        "cu_seqlens = F.pad(lengths.cumsum(0), (1, 0)): 0, then where each sample ends, without "
        "+ 1 or - 1.",
    ),
    "packed_first": (
        "packed samples are separated at the first border only, and all behind it are one",
        "Cut at each border, not at cu_seqlens[1] alone: zip(cu_seqlens[:-1], cu_seqlens[1:]).",
    ),
}
