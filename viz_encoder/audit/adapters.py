"""Modules that are known: each is given the mask in its own convention, and that is said."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.calling import require_one_stack, with_mask
from viz_encoder.audit.measure.setting import Intent, given_to
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Embedding
from viz_encoder.errors import InputError
from viz_encoder.model import Encoder

MakeMask = Callable[..., Any]  # of valid, or of valid and x
OF_TORCH = {  # the keywords of its mask of padding, and of its other one
    nn.TransformerEncoder: ("src_key_padding_mask", "mask"),
    nn.TransformerEncoderLayer: ("src_key_padding_mask", "src_mask"),
    nn.MultiheadAttention: ("key_padding_mask", "attn_mask"),
}


@dataclass(frozen=True, eq=False)
class Adapted:
    """A model as audit_mask calls it, and what is known of it."""

    model: Callable[[Tensor, Any], Any]
    make_mask: MakeMask
    module: nn.Module | None = None
    d_model: int | None = None
    n_layers: int | None = None
    vocab_size: int | None = None
    variants: Mapping[str, Callable[[Tensor, Any], Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    instead: str = ""  # what to write if only the signature told how to call it
    closes_padding: bool = False  # by a mask of its own library, made of valid


def adapt(model: Any, intent: Any, make_mask: MakeMask | None) -> Adapted:
    """How to call a model: known modules by their own keywords, others as model(x, passed)."""
    only = intent if callable(intent) else None
    if isinstance(model, tuple(OF_TORCH)):
        return of_torch(model, only, make_mask)
    encoder = model.model if isinstance(model, LoadedEncoder) else model
    if isinstance(encoder, Encoder):
        return our_encoder(encoder, make_mask)
    if isinstance(model, nn.Module) and hasattr(getattr(model, "config", None), "hidden_size"):
        return transformers_model(model, make_mask)
    if not callable(model):
        raise InputError(f"model is {type(model).__name__}; it must be callable: model(x, passed).")
    require_one_stack(model, "audit_mask")
    module = model if isinstance(model, nn.Module) else None
    call = with_mask(model, own_mask=make_mask is not None)
    notes = (call.told,) if call.told else ()
    made = make_mask or _first_intent(intent)
    return Adapted(call.run, made, module, notes=notes, instead=call.instead)


def _first_intent(intent: Any) -> MakeMask:
    if callable(intent):
        return intent
    return lambda valid, x: [one(*given_to(one, valid, x)) for one in intent]


def of_torch(module: Any, intent: Intent | None, make_mask: MakeMask | None) -> Adapted:
    """Attention of torch.nn, by its two masks (True = ignored); attention alone as self-attention.

    A mask of your own code may be a dict of keywords, or a tensor: (batch, token) goes to the mask
    of padding, any other to the other one. Attention alone runs with need_weights=False; =True
    must agree.
    """
    if intent is None and make_mask is None:
        raise InputError("With one intent per layer, give make_mask=: what your code passes.")
    alone = isinstance(module, nn.MultiheadAttention)
    layers = module.layers if isinstance(module, nn.TransformerEncoder) else [module]
    attention = module if alone else layers[0].self_attn
    names = next(names for kind, names in OF_TORCH.items() if isinstance(module, kind))
    first, name = attention.batch_first, type(module).__name__

    def call(**more: bool) -> Callable[[Tensor, Any], Tensor]:
        def run(x: Tensor, passed: Any) -> Tensor:
            given = more | _keywords(passed, x, names)
            x = x if first else x.transpose(0, 1)
            out = module(x, x, x, **given)[0] if alone else module(x, **given)
            return out if first else out.transpose(0, 1)

        return run

    note = (
        f"Your own mask code: the intent was passed to nn.{name} as {names[0]}= and {names[1]}= "
        "(True = ignored). Give make_mask= to audit what your code passes."
    )
    return Adapted(
        call(need_weights=False) if alone else call(),
        make_mask or _for_torch(intent or (lambda valid: valid), attention.num_heads, names),
        module,
        attention.embed_dim,
        len(layers),
        variants={"need_weights=True": call(need_weights=True)} if alone else {},
        notes=() if make_mask else (note,),
    )


def our_encoder(encoder: Encoder, make_mask: MakeMask | None = None) -> Adapted:
    """Our Encoder, by valid (True = a real token) and mask (True = may attend).

    Where no make_mask is given only valid is passed: causal and window are its config's own.
    """
    config = encoder.config
    if config.embedding is Embedding.PATCH:
        raise InputError("Pictures have no padding; audit an encoder of tokens or vectors.")

    def run(x: Tensor, passed: Any) -> Tensor:
        given = passed if isinstance(passed, dict) else {"mask": passed}
        return encoder(x, **given).output

    def only_valid(valid: Tensor) -> dict[str, Tensor]:
        return {"valid": valid}

    ids = config.embedding is Embedding.TOKEN
    note = "" if make_mask else "Passed as valid= (True = a real token)."
    return Adapted(
        run,
        make_mask or only_valid,
        encoder,
        config.d_model,
        config.n_layers,
        config.vocab_size if ids else None,
        notes=(note,) if note else (),
        closes_padding=make_mask is None,
    )


def transformers_model(module: nn.Module, make_mask: MakeMask | None = None) -> Adapted:
    """A transformers model, by inputs_embeds or input_ids, and attention_mask (1 = a real token).

    Its library is not needed: it is known by config.hidden_size and its keywords. A mask of your
    own code may be a dict of keywords, such as attention_mask and position_ids.
    """
    config: Any = module.config
    require_one_stack(module, "audit_mask")
    keywords = inspect.signature(module.forward).parameters
    if "inputs_embeds" not in keywords:
        first = next(iter(keywords))
        raise InputError(
            f"{type(module).__name__} takes no inputs_embeds. Write vz.audit_batch(model, batch, "
            f"intent), or vz.audit_mask(lambda x, passed: model({first}=x), intent, "
            "inputs=AuditInputs(make=…, valid=…), module=model), where make(seed, batch, length) "
            "makes what it takes."
        )

    def run(x: Tensor, passed: Any) -> Any:
        given = passed if isinstance(passed, dict) else {"attention_mask": passed}
        name = "inputs_embeds" if x.is_floating_point() else "input_ids"
        return module(**{name: x}, **given)

    def as_numbers(valid: Tensor) -> dict[str, Tensor]:
        return {"attention_mask": valid.long()}

    note = "" if make_mask else "Passed as attention_mask= (batch, token), 1 = a real token."
    return Adapted(
        run,
        make_mask or as_numbers,
        module,
        getattr(_embedding(module), "embedding_dim", config.hidden_size),
        getattr(config, "num_hidden_layers", None),
        notes=(note,) if note else (),
        closes_padding=make_mask is None,
    )


def _embedding(module: nn.Module) -> Any:
    """Its table of tokens, which may be narrower than its layers, as in ALBERT."""
    return getattr(module, "get_input_embeddings", lambda: None)()


def _keywords(passed: Any, x: Tensor, names: tuple[str, str]) -> dict[str, Any]:
    if passed is None:
        return {}
    if isinstance(passed, dict):
        return passed
    is_padding = isinstance(passed, Tensor) and tuple(passed.shape) == tuple(x.shape[:2])
    return {names[0] if is_padding else names[1]: passed}


def _for_torch(intent: Intent, n_heads: int, names: tuple[str, str]) -> MakeMask:
    """The intent as torch.nn takes it: padding and pattern apart where it is made of those two."""

    def make(valid: Tensor) -> dict[str, Tensor]:
        allowed = intent(valid)
        n_samples, n_tokens = valid.shape
        allowed = allowed.expand(n_samples, n_tokens, n_tokens)
        whole = intent(torch.ones_like(valid)).expand_as(allowed)
        pattern = whole[0]
        if bool((allowed == (pattern & valid[:, None, :])).all()):
            both = {} if bool(pattern.all()) else {names[1]: ~pattern}
            return {names[0]: ~valid, **both}
        if bool((allowed == pattern).all()):
            return {names[1]: ~pattern}
        return {names[1]: ~allowed.repeat_interleave(n_heads, dim=0)}

    return make
