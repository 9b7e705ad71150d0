"""Findings: what stands out in a run, as sentences: links between words, and roles of heads."""

from viz_encoder.analyses.findings.finding import NOTHING as NOTHING
from viz_encoder.analyses.findings.finding import Finding as Finding
from viz_encoder.analyses.findings.finding import Findings as Findings
from viz_encoder.analyses.findings.finding import patch_links
from viz_encoder.analyses.findings.head_roles import Role, roles_of, unlike
from viz_encoder.analyses.findings.links import links
from viz_encoder.analyses.findings.measure import measure
from viz_encoder.analyses.findings.reading import RunTokens, read
from viz_encoder.analyses.findings.role_shares import role_shares as role_shares
from viz_encoder.arguments import Most, public
from viz_encoder.trace import Trace

FARTHEST = 8  # places on, that a head may keep to
BY_PLACE = ("previous", "next", "offset")
N_LINKS = 0.5  # share of the findings, if there are enough others


@public
def findings(trace: Trace, n: Most = 6) -> Findings:
    """Find what stands out in a run: the strongest links, heads with a clear role, unusual heads.

    A link is a query's weight on another word's key that is far above what is ordinary. Its score
    is weight · ln(weight / ordinary) · ln(1 + distance), the distance counted up to 10 tokens. The
    ordinary weight is the largest of three: what the key gets on average of the queries that may
    attend to it, what the head gives on average at that distance (up to 4 tokens, the link itself
    left out), and what even attention would give. So neither a key that every token looks at, nor
    the habit of looking two places back, nor a row that the mask leaves few keys makes a link.
    Links exclude special tokens, punctuation, English function words other than pronouns
    ("because", "the"), pieces of one word, and adjacent words; links from a [MASK], if there is
    one, come first. In a picture, a link is a head in which the first token puts at least half of
    its attention on at most a tenth of the patches.

    A role is a kind of token that has over half of a head's attention, corrected for even
    attention: the previous, next or same token, one at a fixed offset, the first token,
    delimiters, punctuation (after Clark et al., 2019, arXiv:1906.04341), the other text of a pair.
    An unlike head has the largest mean Jensen–Shannon distance to the others of its layer.

    Weights say where a head looks, not what the model's answer rests on. Untrained encoders of the
    usual scales give no findings; random scores of unit variance do have outliers that look alike.

    Args:
        trace: the run.
        n: the most that are given; half of them links, where there are enough others.
    """
    reading = read(trace)
    roles = _picture_roles(trace) if trace.grid else _text_roles(reading)
    span = max(abs(role.offset) for role in roles)
    layers = [measure(trace, number, reading, span) for number in range(trace.n_layers)]
    kept = roles_of(layers, reading, roles)
    by_place = {place for one in kept if one.kind in BY_PLACE for place in one.heads}
    kept += unlike(layers, reading, {place for one in kept for place in one.heads})
    if trace.grid:
        linked = patch_links(trace, trace.grid, layers)
    else:
        linked = links(layers, reading, by_place)
    n_linked = max(n - len(kept), round(n * N_LINKS))
    unread = tuple(
        (each.layer, each.head)
        for layer in layers
        for each in layer.heads
        if bool(each.to_key.isnan().any())
    )
    return Findings(tuple((linked[:n_linked] + kept)[:n]), unread)


def _text_roles(reading: RunTokens) -> tuple[Role, ...]:
    first, delimiter = reading.names[reading.first], reading.delimiter_name
    offsets = [at for step in range(2, FARTHEST + 1) for at in (-step, step)]
    return (
        Role("previous", "the previous token", "previous token", -1),
        Role("next", "the next token", "next token", 1),
        Role("same", "the token itself", "same token"),
        Role("first", f"the first token ({first})", f"first token ({first})"),
        Role("delimiter", delimiter, delimiter),
        Role("punctuation", "punctuation", "punctuation"),
        Role("across", "the other text", "other text"),
        *(Role("offset", _place(at), _place(at).removeprefix("the "), at) for at in offsets),
    )


def _place(offset: int) -> str:
    return f"the token {abs(offset)} {'after' if offset > 0 else 'before'}"


def _picture_roles(trace: Trace) -> tuple[Role, ...]:
    """Neighbors in reading order, and in the rows above and below."""
    grid = trace.grid
    assert grid is not None
    first = trace.tokens[0]
    sink = (Role("first", first, first),) if grid.n_prefix else ()
    rows = (
        Role("offset", "the patch above", "patch above", -grid.n_cols),
        Role("offset", "the patch below", "patch below", grid.n_cols),
    )
    return (
        Role("previous", "the patch before it", "patch before", -1),
        Role("next", "the patch after it", "patch after", 1),
        Role("same", "the patch itself", "same patch"),
        Role("delimiter", "special tokens", "special tokens"),
        *sink,
        *(rows if grid.n_cols > 1 else ()),
    )
