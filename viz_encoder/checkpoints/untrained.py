"""An untrained encoder: seeded random weights as a source, marked as such wherever it is shown."""

import torch

from viz_encoder.checkpoints.given_readers import GivenReaders
from viz_encoder.checkpoints.loaded import ModelCard
from viz_encoder.checkpoints.memory import InMemory
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.model import Encoder
from viz_encoder.model.saving import own_file

STD = 0.02  # std of BERT's tables (Devlin et al., 2019, arXiv:1810.04805)


def untrained(config: EncoderConfig, given: GivenReaders, seed: int) -> InMemory:
    """Random weights: torch's own, and what vz.Encoder starts from zero drawn from N(0, 0.02²).

    Those are positions, prefix tokens, relative positions and learned queries; at zero, an
    untrained encoder would not know any order. torch's generator is left as it was.

    Raises:
        ConfigError: the weights do not fit in memory.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"), torch.no_grad():
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would reseed GPUs too
        model = Encoder(config)
        for name, weight in model.named_parameters():
            if not name.endswith("bias") and not bool(weight.any()):
                weight.normal_(0, STD)
    card = ModelCard("encoder", f"random weights, seed {seed}", "")
    file = own_file(config, untrained=True)
    if config.embedding is Embedding.PATCH:
        file["image"] = {}  # pixels from −1 to 1
    return InMemory(file, model.state_dict(), given, card)
