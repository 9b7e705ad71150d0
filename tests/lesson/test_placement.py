"""Pre-norm beside post-norm: every number against an encoder written here in numpy, in doubles."""

from itertools import product

import numpy as np
import pytest

from viz_encoder.lesson.placement import DEPTHS, N_HEADS, by_depth, embedded, untrained

NAMES = ["[CLS]", "the", "keys", "to", "the", "cabinet", "[MASK]", "old", "[SEP]"]
AT = 6


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attended(x, weight):
    q, k, v = (x @ weight(f"attn.{each}").T for each in "qkv")
    width = q.shape[1] // N_HEADS
    outs = []
    for one in (slice(head * width, (head + 1) * width) for head in range(N_HEADS)):
        scores = q[:, one] @ k[:, one].T / np.sqrt(width)
        exps = np.exp(scores - scores.max(1, keepdims=True))
        outs.append(exps / exps.sum(1, keepdims=True) @ v[:, one])
    return np.concatenate(outs, 1) @ weight("attn.o").T


def fed(x, weight):
    return np.maximum(x @ weight("ff.up").T, 0) @ weight("ff.down").T


def states(placement, residual, norm):
    """The states after each block, and what of the token's embedding the bypasses alone carry.

    The latter is what changes in the post-norms' sums if the embedding alone goes through them,
    with the divisors that ran: a linear map.
    """
    tensors = untrained(placement).state_dict()
    x = embedded(NAMES).numpy()
    carried = x[AT].copy()
    found = [(x, carried)]
    for layer in range(DEPTHS[-1]):

        def weight(name, layer=layer):
            return tensors[f"layers.{layer}.{name}.weight"].numpy()

        for part in (attended, fed):
            into = normalized(x) if norm and placement == "pre" else x
            x, carried = residual * x + part(into, weight), residual * carried
            if norm and placement == "post":
                divisor = np.sqrt(x[AT].var() + 1e-5)
                carried, x = (carried - carried.mean()) / divisor, normalized(x)
        found.append((x, carried))
    return found


@pytest.mark.parametrize(("residual", "norm"), list(product([True, False], repeat=2)))
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_each_number_by_depth(placement, residual, norm):
    told = by_depth(NAMES, AT, placement, residual=residual, norm=norm)
    for at, (x, carried) in enumerate(states(placement, residual, norm)[depth] for depth in DEPTHS):
        length = np.linalg.norm(x[AT])
        units = x / np.linalg.norm(x, axis=1, keepdims=True)
        alike = np.delete(units @ units[AT], AT).mean()
        expected = length, np.linalg.norm(carried) / length, alike
        found = told.length[at], told.left[at], told.alike[at]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_what_the_page_says_of_them():
    pre, post = (by_depth(NAMES, AT, placement) for placement in ("pre", "post"))
    assert all(length == pytest.approx(8, abs=1e-3) for length in post.length[1:])  # √64
    assert list(pre.length) == sorted(pre.length)
    assert pre.left[-1] > 0.3 and post.left[-1] < 0.02
    for placement in ("pre", "post"):
        bare = by_depth(NAMES, AT, placement, residual=False)
        assert bare.left[1:] == (0,) * 5 and bare.alike[3] > 0.99
    assert by_depth(NAMES, AT, "pre", norm=False) == by_depth(NAMES, AT, "post", norm=False)
