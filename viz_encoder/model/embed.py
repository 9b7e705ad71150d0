"""Embeddings: from token ids, pixels or ready vectors to the first hidden state."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viz_encoder.config import Embedding, EncoderConfig, Positions
from viz_encoder.errors import InputError, TooLong
from viz_encoder.model.block import make_norm
from viz_encoder.model.positions import resize_grid, sinusoidal


class TokenEmbedding(nn.Module):
    """Token embeddings plus segment embeddings (for which of two texts a token is in)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.n_prefix = 0
        self.word = _table(config.vocab_size, config.d_embed)
        self.segment = _table(config.n_segments, config.d_embed) if config.n_segments else None

    def forward(
        self, ids: Int[Tensor, "batch token"], segments: Int[Tensor, "batch token"] | None = None
    ) -> Float[Tensor, "batch token d_embed"]:
        """Look up each id; segment 0 where none are given."""
        _require_rows("Token id", ids, self.word, "use the tokenizer that belongs to this model")
        x: Tensor = self.word(ids)
        if self.segment is not None:
            if segments is not None:
                _require_rows(
                    "Segment",
                    segments,
                    self.segment,
                    "give segments (token_type_ids) in this range",
                )
            x = x + self.segment(torch.zeros_like(ids) if segments is None else segments)
        return x


def _table(n_rows: int, d: int) -> nn.Embedding:
    """An nn.Embedding without its normal_, which loads a compiler on the meta device (1 s)."""
    rows = torch.empty(n_rows, d)
    return nn.Embedding.from_pretrained(rows if rows.is_meta else rows.normal_(), freeze=False)


def _require_rows(what: str, ids: Tensor, table: nn.Embedding, cure: str) -> None:
    lowest, highest = (int(end) for end in ids.aminmax())
    if lowest < 0 or highest >= table.num_embeddings:
        raise InputError(
            f"{what} {lowest if lowest < 0 else highest} is out of range: this model has "
            f"{table.num_embeddings} (0 to {table.num_embeddings - 1}); {cure}."
        )


class PatchEmbedding(nn.Module):
    """Squares of patch_size pixels, each mapped to d_model; prefix tokens come first."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.n_prefix = len(config.prefix)
        size, bias = config.patch_size, config.has_bias("patch")
        self.patch = nn.Conv2d(config.n_channels, config.d_embed, size, stride=size, bias=bias)
        self.prefix = nn.Parameter(torch.zeros(self.n_prefix, config.d_embed))

    def forward(
        self, pixels: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch token d_embed"]:
        """Patches row by row, after the prefix tokens."""
        size = self.patch.kernel_size[0]
        if pixels.shape[-1] % size or pixels.shape[-2] % size:
            raise InputError(
                f"A picture of {pixels.shape[-2]} × {pixels.shape[-1]} pixels cannot be cut into "
                f"patches of {size}; resize it to multiples of {size}."
            )
        patches = self.patch(pixels).flatten(2).mT
        return torch.cat([self.prefix.expand(len(pixels), -1, -1), patches], dim=1)


class Embed(nn.Module):
    """Embedding, plus positions; a norm in BERT-like models, in some a projection to d_model."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens: nn.Module | None = None
        if config.embedding is Embedding.TOKEN:
            self.tokens = TokenEmbedding(config)
        elif config.embedding is Embedding.PATCH:
            self.tokens = PatchEmbedding(config)
        if config.positions is Positions.LEARNED:
            self.position = nn.Parameter(torch.zeros(_n_positions(config), config.d_embed))
        self.norm = make_norm(config, config.d_embed) if config.embed_norm else nn.Identity()
        self.project: nn.Module = nn.Identity()
        if config.d_embed != config.d_model:
            biased = config.has_bias("project")
            self.project = nn.Linear(config.d_embed, config.d_model, bias=biased)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, values: Tensor, segments: Int[Tensor, "batch token"] | None = None
    ) -> Float[Tensor, "batch token d_model"]:
        """The first hidden state of token ids, pixels or vectors."""
        more = () if segments is None else (segments,)
        x = values if self.tokens is None else self.tokens(values, *more)
        self._check_length(x)
        table = self.position_table(values, x.shape[1])
        x = x if table is None else x + table.to(x)
        return self.project(self.dropout(self.norm(x)))

    def _check_length(self, x: Tensor) -> None:
        config = self.config
        fixed = config.positions is Positions.LEARNED and config.embedding is not Embedding.PATCH
        if fixed and x.shape[1] > config.max_positions:
            raise TooLong(
                f"The input has {x.shape[1]:,} tokens; this model has positions for "
                f"{config.max_positions:,}. Shorten it."
            )

    def position_table(
        self, values: Tensor, n_tokens: int
    ) -> Float[Tensor, "token d_embed"] | None:
        """Position vectors added to the tokens, if any; only the shape of `values` is used."""
        config = self.config
        if config.positions is Positions.NONE:
            return None
        if config.positions is Positions.SINUSOIDAL:
            return sinusoidal(n_tokens, config.d_embed)
        if config.embedding is not Embedding.PATCH:
            return self.position[:n_tokens]
        size = config.patch_size
        new_grid = values.shape[-2] // size, values.shape[-1] // size
        n_prefix = len(config.prefix)
        return resize_grid(self.position, n_prefix, config.grid, new_grid, config.antialias)


def _n_positions(config: EncoderConfig) -> int:
    if config.embedding is Embedding.PATCH:
        return len(config.prefix) + config.grid[0] * config.grid[1]
    return config.max_positions
