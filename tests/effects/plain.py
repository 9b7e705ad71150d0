"""A pre-norm encoder in plain matrices: no module of ours runs but the embeddings."""

import numpy as np
import torch


def plain_forward(model, ids, gone=(), away=()):
    """The output with heads gone (layer, head), and tokens away to which none may attend."""
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    n_heads, eps = model.config.n_heads, model.config.norm_eps

    def norm(x, name):
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + eps)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    x = model.embed(ids, None)[0].detach().double().numpy()
    for layer in range(model.config.n_layers):
        at = f"layers.{layer}"
        normed = norm(x, f"{at}.attn_norm")
        parts = [linear(normed, f"{at}.attn.{name}") for name in "qkv"]
        q, k, v = (np.stack(np.split(part, n_heads, axis=-1)) for part in parts)
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        scores[:, :, list(away)] = -np.inf
        exp = np.exp(scores - scores.max(-1, keepdims=True))
        heads = exp / exp.sum(-1, keepdims=True) @ v
        for its, head in gone:
            if its == layer:
                heads[head] = 0
        x = x + linear(np.concatenate(list(heads), axis=-1), f"{at}.attn.o")
        wide = linear(norm(x, f"{at}.ff_norm"), f"{at}.ff.up")
        erf = torch.erf(torch.from_numpy(wide / np.sqrt(2))).numpy()
        x = x + linear(wide * (1 + erf) / 2, f"{at}.ff.down")
    return norm(x, "final_norm")
