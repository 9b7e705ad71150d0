"""What a fault must be, and models of which each is built once."""

from collections.abc import Callable
from functools import lru_cache

from viz_encoder.config import EncoderConfig
from viz_encoder.model import Encoder


def a_sentence(fault: Exception) -> bool:
    """Printable, whole and short."""
    text = str(fault)
    plain = text.isprintable() and "Traceback (" not in text
    return plain and text.endswith(".") and len(text) < 800


def built_once(build: Callable[[EncoderConfig], Encoder]) -> Callable[[EncoderConfig], Encoder]:
    """The same, but a model that was built and not filled serves the next of its config, too."""
    kept = lru_cache(maxsize=8)(build)

    def build_or_reuse(config: EncoderConfig) -> Encoder:
        model = kept(config)
        if all(weight.is_meta for weight in model.state_dict().values()):
            return model
        kept.cache_clear()
        return kept(config)

    return build_or_reuse
