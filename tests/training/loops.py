"""Training loops that a watch must not disturb, and the models they train."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers as hf
from torch import Tensor, nn
from torch.overrides import _get_current_function_mode_stack as mode_stack
from torch.utils.checkpoint import checkpoint

import viz_encoder as vz
from tests.audit.plants import Stack, padding
from tests.audit.transformers_models import TEXT
from viz_encoder.training import watching

PAD, N_TOKENS = 1, 9
LENGTHS = (6, 4, 9, 2)


def real(lengths=LENGTHS, n_tokens=N_TOKENS) -> Tensor:
    return torch.arange(n_tokens) < torch.tensor(lengths)[:, None]


def batch(seed: int = 0, lengths=LENGTHS) -> dict[str, Tensor]:
    """Ids without any special one, padded, as a data loader gives them."""
    valid, generator = real(lengths), torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 40, valid.shape, generator=generator)
    return {"input_ids": ids.masked_fill(~valid, PAD), "attention_mask": valid.long()}


def to_real(given: dict[str, Tensor]) -> Tensor:
    """All may attend to real tokens."""
    return padding(given["attention_mask"] == 1)


class Written(nn.Module):
    """Softmax written out, a norm with running statistics and dropout of several kinds."""

    def __init__(self, mask: Callable[[Tensor], Tensor] = padding, *, draws: bool = False) -> None:
        super().__init__()
        self.table, self.stack, self.mask = nn.Embedding(40, 8), Stack(), mask
        self.draws = draws  # random numbers of Python and numpy, too
        self.norm, self.drop = nn.BatchNorm1d(8), nn.Dropout(0.2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.drop(self.table(input_ids))
        if self.draws and (random.random() < 0.5 or np.random.rand() < 0.5):
            x = x + torch.rand(())
        x = self.norm(x.mT.contiguous()).mT.contiguous()
        return self.drop(self.stack(x, self.mask(attention_mask == 1)))


class Kernel(nn.Module):
    """torch.nn's encoder with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.encoder(self.table(input_ids), src_key_padding_mask=attention_mask == 0)


def bert(**more: Any) -> nn.Module:
    return hf.BertModel(hf.BertConfig(**TEXT, **more), add_pooling_layer=False)


def checkpointed() -> nn.Module:
    model = bert()
    for layer in model.encoder.layer:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
    return model


def compiled(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        torch.compiler.reset()
        return torch.compile(make(), backend="aot_eager")

    return build


def compiled_in_place() -> nn.Module:
    torch.compiler.reset()
    model = bert()
    model.compile(backend="aot_eager")
    return model


def compiled_in_part() -> nn.Module:
    torch.compiler.reset()
    model = bert()
    model.encoder.layer[0].compile(backend="aot_eager")
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "written out": Written,
    "torch.nn": Kernel,
    "BERT": bert,
    "BERT, eager": lambda: bert(attn_implementation="eager"),
    "BERT, gradient checkpointing": checkpointed,
    "torch.compile, written out": compiled(Written),
    "torch.compile, BERT": compiled(bert),
    "BERT.compile()": compiled_in_place,
    "one layer compiled": compiled_in_part,
}


def hidden_of(out: Any) -> Tensor:
    return out if isinstance(out, Tensor) else out.last_hidden_state


def train(
    make: Callable[[], nn.Module], watched: Callable[[nn.Module], Any] | None, steps: int = 6
) -> dict[str, Any]:
    """Some steps with accumulated gradients and an evaluation; all that a watch could change."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    model = make().train()
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-2), []
    watch = watched(model) if watched else None
    for step in range(steps):
        loss = hidden_of(model(**batch(step))).square().mean()
        (loss / 2).backward()
        losses.append(loss.detach())
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
        if step == 2:
            with torch.no_grad():
                losses.append(hidden_of(model.eval()(**batch(99))).mean())
            model.train()
    if watch is not None:
        watch.close()
    assert not mode_stack()
    return {
        "losses": torch.stack(losses),
        "torch": torch.random.get_rng_state(),
        "numpy": torch.from_numpy(np.random.get_state()[1].astype(np.int64)),
        "python": torch.tensor(random.getstate()[1]),
        **{name.replace("_orig_mod.", ""): x.clone() for name, x in model.state_dict().items()},
    }


def main() -> None:
    """In a process without beartype, which draws random numbers of Python to check types."""

    def watched(model: nn.Module) -> watching.Watch:
        return vz.watch(model, 1, intent=to_real, log=lambda look: None)

    plain = train(lambda: Written(draws=True), None)
    for beside in (False, True):  # as it runs, and once more beside
        watching._may_be_fused = lambda module, beside=beside: beside
        for what, value in train(lambda: Written(draws=True), watched).items():
            assert torch.equal(value, plain[what]), (beside, what)
    print("the same")


if __name__ == "__main__":
    main()
