"""The untrained encoders of assets/web/learn/untrained.js, by depth, in numpy and in doubles."""

import math

import numpy as np

NAMES = ["[CLS]", "the", "keys", "to", "the", "cabinet", "[MASK]", "old", "[SEP]"]
DEPTHS = (0, 1, 2, 3, 6, 12)
AT, WIDTH, N_HEADS, EPS = 6, 64, 4, 1e-5
LOW = 2**32 - 1


def uniform(state=1):
    """Numbers in [0, 1): mulberry32."""
    while True:
        state = (state + 0x6D2B79F5) & LOW
        mixed = ((state ^ (state >> 15)) * (1 | state)) & LOW
        mixed = ((mixed + ((mixed ^ (mixed >> 7)) * (61 | mixed) & LOW)) & LOW) ^ mixed
        yield ((mixed ^ (mixed >> 14)) & LOW) / 2**32


def made():
    """The weights of each block, and the embedded names."""
    random = uniform()

    def xavier(rows, columns):
        drawn = [2 * next(random) - 1 for _ in range(rows * columns)]
        return math.sqrt(6 / (rows + columns)) * np.array(drawn).reshape(rows, columns)

    shapes = {**dict.fromkeys("qkvo", (WIDTH, WIDTH)), "up": (256, WIDTH), "down": (WIDTH, 256)}
    blocks = [{name: xavier(*shape) for name, shape in shapes.items()} for _ in range(DEPTHS[-1])]
    known = {name: [normal(random) for _ in range(WIDTH)] for name in dict.fromkeys(NAMES)}
    rates = 10_000.0 ** (-(np.arange(WIDTH) // 2 * 2) / WIDTH)
    turned = np.arange(len(NAMES))[:, None] * rates
    places = np.where(np.arange(WIDTH) % 2, np.cos(turned), np.sin(turned))
    return blocks, np.array([known[name] for name in NAMES]) + places


def normal(random):
    """By Box and Muller."""
    return math.sqrt(-2 * math.log(1 - next(random))) * math.cos(2 * math.pi * next(random))


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPS)


def attended(x, block):
    q, k, v = (x @ block[each].T for each in "qkv")
    width = WIDTH // N_HEADS
    outs = []
    for one in (slice(head * width, (head + 1) * width) for head in range(N_HEADS)):
        scores = q[:, one] @ k[:, one].T / np.sqrt(width)
        exps = np.exp(scores - scores.max(1, keepdims=True))
        outs.append(exps / exps.sum(1, keepdims=True) @ v[:, one])
    return np.concatenate(outs, 1) @ block["o"].T


def fed(x, block):
    return np.maximum(x @ block["up"].T, 0) @ block["down"].T


def by_depth(post, residual, norm):
    """Length, what is left of the embedding, and how alike all are, after the told blocks.

    The embedding alone goes through the post-norms' sums with the divisors that ran: a linear map.
    """
    blocks, x = made()
    carried = x[AT].copy()
    found = [measured(x, carried)]
    for block in blocks:
        for part in (attended, fed):
            into = normalized(x) if norm and not post else x
            x, carried = residual * x + part(into, block), residual * carried
            if norm and post:
                divisor = np.sqrt(x[AT].var() + EPS)
                carried, x = (carried - carried.mean()) / divisor, normalized(x)
        found.append(measured(x, carried))
    return [found[depth] for depth in DEPTHS]


def measured(x, carried):
    length = np.linalg.norm(x[AT])
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    alike = np.delete(units @ units[AT], AT).mean()
    return [length, np.linalg.norm(carried) / length, alike]
