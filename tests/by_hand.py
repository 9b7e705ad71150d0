"""Attention written out in double precision, and runs that are made up of what is known."""

from dataclasses import replace

import numpy as np
import torch

import viz_encoder as vz
from viz_encoder.inputs import Sample
from viz_encoder.trace import LayerTrace, Origin


def maps_of(trace, layer):
    """A layer's maps "head query key" from its queries and keys, 0 where masked."""
    ran = trace.layers[layer]
    scores = ran.q.double().numpy() @ ran.k.double().numpy().transpose(0, 2, 1) * ran.scale
    if ran.mask is not None:
        scores = np.where(ran.mask.numpy(), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def layer_of(maps, **named):
    """A layer whose maps are given as they are."""
    n_heads, n_queries, n_keys = maps.shape
    queries, keys = torch.zeros(n_heads, n_queries, 0), torch.zeros(n_heads, n_keys, 0)
    return LayerTrace(queries, keys, keys, 1.0, maps=maps, **named)


def run_of(*layers, valid=None, tokens=(), special=(), **named):
    """A run of which the layers are known, its padding and its tokens."""
    n = layers[0].q.shape[1]
    valid = torch.ones(n, dtype=torch.bool) if valid is None else torch.as_tensor(valid).bool()
    sample = Sample(tuple(tokens) or ("a",) * n, tuple(special) or (False,) * n, **named)
    return vz.Trace(layers, (), torch.zeros(n, 1), valid, sample, Origin("made up"))


def whole_maps(trace):
    """All maps "layer head query key" in double precision."""
    return np.stack([trace.attention(at).double().numpy() for at in range(trace.n_layers)])


def shown(maps, groups, *, renormalize=False):
    """Maps "… query key" of groups of tokens: means over queries of sums over keys, plainly."""
    groups = [list(group) for group in groups]
    columns = np.stack([maps[..., keys].sum(axis=-1) for keys in groups], axis=-1)
    if renormalize:
        columns /= columns.sum(axis=-1, keepdims=True)
    return np.stack([columns[..., rows, :].mean(axis=-2) for rows in groups], axis=-2)


def loud(trace):
    """The run with hidden states of padding so large that they would be seen in any number."""
    assert not trace.valid.all()
    states = [
        torch.where(trace.valid[:, None], state, 1e4 * torch.randn_like(state))
        for state in trace.hidden_states
    ]
    return replace(trace, hidden_states=tuple(states))


def kept(trace, special=True):
    """The real tokens, with special ones or without."""
    pairs = zip(trace.valid.tolist(), trace.sample.special, strict=True)
    return [at for at, (real, own) in enumerate(pairs) if real and (special or not own)]
