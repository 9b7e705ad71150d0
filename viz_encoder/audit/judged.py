"""Measures the share of forbidden pairs that was judged, by each layer's maps or by gradients.

After enough layers everyone may know of everyone; then a gradient can find nothing, and says
nothing.
"""

from enum import Enum, auto
from typing import NamedTuple

import torch

from viz_encoder.audit.arguments import LAST
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.maps import beside_tokens, named_once
from viz_encoder.audit.measure.setting import GRADIENT, Case, ModelFault
from viz_encoder.audit.question import Evidence
from viz_encoder.audit.report import Verdict
from viz_encoder.errors import InputError
from viz_encoder.shown import continued, counted

LONGEST = 256  # tokens to look for a length at which a gradient could fail


class Share(Enum):
    """The judged share."""

    ALL = auto()  # every pair that is forbidden, in every layer
    SOME = auto()  # some pairs of every layer
    NONE = auto()  # there is a layer of which nothing was


class Judged(NamedTuple):
    """What was judged, and what was not."""

    share: Share
    but: str = ""  # what was not judged, and what to pass for it


def how_much_was_judged(context: AuditContext) -> Judged:
    """Compute the judged share of an audit without failures."""
    if _all_is_crossed(context):
        return Judged(Share.ALL)
    others, by_maps = _other_calls(context), _judged_by_maps(context)
    if (by_maps and not others) or context.more_layers:  # already a warning
        open_ = [_beside_attention(context), _pooling(context)] if by_maps else []
        open_ += [_of_padding(context)]
        but = "; ".join(filter(None, open_))
        return Judged(Share.ALL if by_maps and not but else Share.SOME, but)
    by_outputs = _looked_at_outputs(context)
    share = _by_outputs(context) if by_outputs else Share.NONE
    pooled = _pooling(context) if context.scope.pool_over is not None else ""
    others = [*filter(None, [_own_token(context), _of_padding(context), pooled]), *others]
    if context.scope.cross is not None and _crossed(context):  # it was asked for
        return Judged(Share.NONE, "; ".join(others))
    if share is Share.ALL:  # of these tokens, but not of those of a memory
        routed = "router" in context.subject.fixed_keys.values() and not context.maps.layers
        others += ["a softmax taken for a router's"] if routed else []
        return Judged(Share.SOME if others else share, "; ".join(others))
    if by_maps:  # by cross-attention of which nothing is said, a token may know any other
        apart = context.setting.fixed or not _crossed(context) or context.memory_is_apart
        share = Share.SOME if apart else Share.NONE
    elif context.n_layers is None:
        share = Share.NONE
    told = [] if by_maps else [_unseen(context, share)]
    return Judged(share, "; ".join((*told, *others)))


def _beside_attention(context: AuditContext) -> str:
    """What maps do not show, for a single batch or for inputs longer than the tokens.

    A norm or a convolution of waveforms, say, may mix padding into real tokens before any layer.
    """
    beside = "what runs besides attention, such as norms and convolutions"
    if context.base.own:
        return f"{beside}: audit_mask compares outputs"
    width = context.base.x.shape[1] if context.base.x.ndim > 1 else 0
    if width == context.base.valid.shape[1] or _looked_at_outputs(context):
        return ""
    return (
        f"{beside} over padded inputs: no output was compared, because the inputs have no axis of "
        "tokens"
    )


def _of_padding(context: AuditContext) -> str:
    """That a sample differs alone, as padding, or only the number of tokens, chooses its links."""
    for answer in context.judged("padding"):
        if answer.verdict is Verdict.NOT_TESTED and answer.amount is not None:
            return (
                f"what padding changes: sample {answer.sample} differs by {answer.amount:.2g} "
                "without its padding, which is wrong unless the number of tokens chooses what is "
                "left out"
            )
    return ""


def _pooling(context: AuditContext) -> str:
    """What a model's own pooling leaves open: any token of a sample may be in its one row."""
    out, n_samples = context.out, len(context.base.valid)
    if _has_judged(context, "pooling"):
        return ""
    if context.scope.pool_over is not None:
        return _why_not(context, "pooling")
    if out.ndim != 2 or len(out) != n_samples:
        return ""
    of_mean = "lambda valid: valid for a mean of all real tokens"
    to_give = f"AuditScope(pool_over=…), such as {of_mean}, or for the last row {LAST}"
    give = f"audit_mask takes {to_give}" if context.setting.fixed else f"give {to_give}"
    return f"which tokens a sample's one row is made of: {give}"


def _own_token(context: AuditContext) -> str:
    """That outputs depend on their own tokens, which the intent forbids and a residual explains."""
    found = context.gradients
    if context.is_pooled or isinstance(found, str):
        return ""
    judged, itself = context.base.judged, found.within(context.base).diagonal(dim1=1, dim2=2)
    sees = torch.stack(context.base.allowed).diagonal(dim1=2, dim2=3).all(dim=0)
    if not bool((judged & ~sees.to(judged.device) & (itself > GRADIENT).to(judged.device)).any()):
        return ""
    return (
        "whether a token sees itself, which your intent forbids: outputs depend on their own "
        "token, as a residual lets them in any case, and only maps could tell"
    )


def _has_judged(context: AuditContext, part: str) -> bool:
    return any(one.verdict is not Verdict.NOT_TESTED for one in context.judged(part))


def _why_not(context: AuditContext, part: str) -> str:
    """What the check of this part says, as a clause."""
    return continued(context.judged(part)[0].evidence).removesuffix(".")


def _looked_at_outputs(context: AuditContext) -> bool:
    """Whether any check has told which tokens an output depends on."""
    links = [one for one in context.answers.values() if one.proves == Evidence.LINKS.name]
    return any(one.verdict is not Verdict.NOT_TESTED for one in links)


def _judged_by_maps(context: AuditContext) -> bool:
    """Whether the maps of as many layers as there are were judged."""
    seen = len(context.maps.layers)
    return _has_judged(context, "layers") and 0 < (context.n_layers or 0) <= seen


def _other_calls(context: AuditContext) -> list[str]:
    """Calls of attention that were seen and could not be held against what is meant."""
    told, left_out = _crossed(context), ", ".join(context.maps.kinds_left_out)
    told += [f"attention that is not over these tokens: {left_out}"] if left_out else []
    told += _beside_tokens(context)
    unseen = ", ".join(named_once(context.maps.unseen)) if context.maps.layers else ""
    told += [f"a softmax that was not seen to meet values: {unseen}"] if unseen else []
    outside = counted(context.unwatched, "call")
    give = "give a module that holds it"
    told += [f"attention outside of module= ({outside}): {give}"] if context.unwatched else []
    return told


def _crossed(context: AuditContext) -> list[str]:
    """Cross-attention of which it is not said what it may look at, or not in its own sizes."""
    if context.scope.cross and context.maps.cross and not _has_judged(context, "memory"):
        return [_why_not(context, "memory")]
    names = () if context.scope.cross else named_once([one.name for one in context.maps.cross])
    to_give = "AuditScope(cross=…)"
    give = f"audit_mask takes {to_give}" if context.setting.fixed else f"give {to_give}"
    apart = not names or context.setting.fixed or context.memory_is_apart
    mixes = "" if apart else ", by which a token may know of any other of its sample"
    return [f"cross-attention ({', '.join(names)}){mixes}: {give}"] if names else []


def _all_is_crossed(context: AuditContext) -> bool:
    """Whether all attention that was seen looks at a memory, and was held against cross=."""
    maps, told = context.maps, context.judged("memory") if context.scope.cross else ()
    others = maps.layers or maps.left_out or maps.unseen or context.unwatched
    known = context.given_layers in (None, len(maps.cross)) and len(context.setting.intents) < 2
    right = bool(told) and all(one.verdict is Verdict.PASS for one in told)
    return right and known and not others


def _beside_tokens(context: AuditContext) -> list[str]:
    """Several keys of a layer that hold no token, such as a memory's: which may be seen is open."""
    if _has_judged(context, "memory"):
        return []
    keys = ", ".join(beside_tokens(context.maps))
    return [f"{keys}, such as a memory's or registers: give AuditScope(cross=…)"] if keys else []


def _by_outputs(context: AuditContext) -> Share:
    """Share judged by gradients, at the first length or another one that was tried."""
    cases = [context.base]
    if any(one.verdict is Verdict.PASS for one in context.judged("lengths")):
        cases += [one for n in context.other_lengths if (one := _case(context, n)) is not None]
    shares = [_share(context, case) for case in cases]
    return next(share for share in Share if share in shares)


def _case(context: AuditContext, length: int) -> Case | None:
    try:
        return context.setting.case(context.setting.padding(length))
    except (ModelFault, InputError):
        return None


def _share(context: AuditContext, case: Case) -> Share:
    """Share of a layer's forbidden pairs that no path through all layers may connect."""
    may = context.may(case)
    if may.shape[1] != case.valid.shape[1]:  # one row a sample: what its tokens may know together
        may = may.expand_as(case.allowed[0])
    found = Share.ALL
    for number, allowed in enumerate(case.allowed):
        forbidden = ~allowed & case.judged[:, :, None]
        if not bool((forbidden & may).any()):
            continue
        found = Share.SOME
        real = forbidden & case.valid[:, None, :] & ~context.pattern(case, number)
        if bool(real.any()) and not bool((real & ~may).any()):
            return Share.NONE
    return found


def _unseen(context: AuditContext, share: Share) -> str:
    """Why gradients tell less than maps, and what to give."""
    seen, n_layers = len(context.maps.layers), context.n_layers
    if n_layers is None:
        unknown = "no map shows how many layers there are"
        return f"how far each layer looks, because {unknown}: give n_layers="
    if share is Share.SOME:
        maps = f"the maps of only {seen} of {n_layers} layers were" if seen else "no maps were"
        return f"each layer by itself, because {maps} seen"
    if context.is_pooled:
        why, give = "the output is one row a sample", "let the model return one row a token"
    else:
        n_tokens, longer = context.base.valid.shape[1], _long_enough(context)
        why = f"after {counted(n_layers, 'layer')} a token may know of all {n_tokens}"
        give = f"give AuditScope(lengths=[{longer}])" if longer else "audit one layer by itself"
    return f"how far each layer looks, because no maps were seen, and {why}: {give}"


def _long_enough(context: AuditContext) -> int | None:
    length = context.base.valid.shape[1]
    while (length := 2 * length) <= LONGEST:
        case = _case(context, length)
        if case is None or _share(context, case) is not Share.NONE:
            return None if case is None else length
    return None
