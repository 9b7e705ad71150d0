"""What is measured: one function a row of the table, each returning the ratio it names."""

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

import viz_encoder as vz
from benchmarks.long_audit import audit_seconds
from benchmarks.many_runs import growth_of_memory
from benchmarks.many_texts import growth_over_texts
from benchmarks.models import BASE, MINILM, Shape, bert, inputs, ours, torch_encoder
from benchmarks.timing import ratio
from viz_encoder.analyses.collection import collection
from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.survey import survey
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora import HeadSums
from viz_encoder.corpora.measured_batch import measured, pooled_vectors
from viz_encoder.corpora.spread import VectorSums
from viz_encoder.corpora.statistics import sampled_distances
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.items import read_set
from viz_encoder.trace.batches import by_length, joined
from viz_encoder.trace.capture import arguments, run

Groups = list[tuple[list[int], Inputs]]  # the numbers of a batch's texts, and the batch


@dataclass(frozen=True)
class Row:
    """One line of the table: what, what it must reach, and how it is measured."""

    what: str
    limit: str
    measure: Callable[[int], float]
    unit: str = "×"
    fresh: bool = False  # with memory as the system's allocator gives it, not reused


def capture_cost(shape: Shape, n_tokens: int) -> Callable[[int], float]:
    def measure(rounds: int) -> float:
        encoder, given = ours(shape, n_tokens), inputs(n_tokens)

        def plain() -> None:
            with torch.inference_mode():
                encoder.model(given.values, segments=given.segments)

        return ratio(lambda: run(encoder, given), plain, rounds)

    return measure


def record_cost(n_tokens: int) -> Callable[[int], float]:
    def measure(rounds: int) -> float:
        model, ids = bert(MINILM, n_tokens, "sdpa"), inputs(n_tokens).values
        return recorded_against_plain(model, lambda: model(ids), rounds)

    return measure


def fused_cost(n_tokens: int, *, padded: bool) -> Callable[[int], float]:
    def measure(rounds: int) -> float:
        model, n_samples = torch_encoder(MINILM), 2 if padded else 1
        x = torch.randn(n_samples, n_tokens, MINILM.d_model)
        padding = torch.zeros(n_samples, n_tokens, dtype=torch.bool) if padded else None
        if padding is not None:
            padding[1, n_tokens * 2 // 3 :] = True
        run_it = partial(model, x, src_key_padding_mask=padding)
        return recorded_against_plain(model, run_it, rounds)

    return measure


def recorded_against_plain(model: nn.Module, run_it: Callable[[], object], rounds: int) -> float:
    def plain() -> None:
        with torch.inference_mode():
            run_it()

    def recorded() -> None:
        with torch.inference_mode(), vz.record(model):
            run_it()

    return ratio(recorded, plain, rounds)


def watched_training(shape: Shape, n_samples: int, n_tokens: int) -> Callable[[int], float]:
    """Percent: a look is one of EVERY steps; what it adds to one, spread over all of them."""

    def measure(rounds: int) -> float:
        model = bert(shape, n_tokens, "sdpa").train()
        optimizer = torch.optim.AdamW(model.parameters())
        ids = inputs(n_tokens).values.expand(n_samples, -1)
        counts = torch.linspace(n_tokens // 2, n_tokens, n_samples).long()
        mask = (torch.arange(n_tokens) < counts[:, None]).long()

        def to_real(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            return (batch["attention_mask"] == 1)[:, None].expand(-1, n_tokens, -1)

        def step() -> None:
            model(input_ids=ids, attention_mask=mask).last_hidden_state.square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "watch.csv"

            def looked_at() -> None:
                with vz.watch(model, intent=to_real, log=log, pad_id=0):
                    step()

            return 100 * (ratio(looked_at, step, rounds) - 1) / EVERY

    return measure


def watched_step(n_tokens: int) -> Callable[[int], float]:
    """A step of torch's own encoder that is looked at, ÷ a plain one: 8 samples, padded."""

    def measure(rounds: int) -> float:
        layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).train()
        optimizer = torch.optim.Adam(model.parameters())
        x = torch.randn(8, n_tokens, 128)
        counts = torch.linspace(n_tokens // 2, n_tokens, 8).long()
        valid = torch.arange(n_tokens) < counts[:, None]

        def step() -> None:
            model(x, src_key_padding_mask=~valid).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

        def to_real(batch: object) -> torch.Tensor:
            return valid[:, None].expand(-1, n_tokens, -1)

        with tempfile.TemporaryDirectory() as folder:

            def looked_at() -> None:
                with vz.watch(model, 1, intent=to_real, log=Path(folder) / "watch.csv"):
                    step()

            return ratio(looked_at, step, rounds)

    return measure


def eager_against_ours(rounds: int) -> float:
    n_tokens = 2048
    model, encoder, given = (
        bert(MINILM, n_tokens, "eager"),
        ours(MINILM, n_tokens),
        inputs(n_tokens),
    )

    def eager() -> None:
        with torch.inference_mode():
            model(given.values, output_attentions=True, output_hidden_states=True)

    return ratio(eager, lambda: vz.capture(encoder, given), rounds)


def memory_against_eager(rounds: int) -> float:
    n_tokens = 2048
    model, given = bert(BASE, n_tokens, "eager"), inputs(n_tokens)
    with torch.inference_mode():
        out = model(given.values, output_attentions=True, output_hidden_states=True)
        held = sum(t.untyped_storage().nbytes() for t in (*out.attentions, *out.hidden_states))
    del out
    return held / vz.capture(ours(BASE, n_tokens), given)[0].nbytes


def growth(rounds: int) -> float:
    encoder = ours(BASE, 2048)
    short, long = (vz.capture(encoder, inputs(n))[0].nbytes for n in (1024, 2048))
    return long / short


def one_map(rounds: int) -> float:
    encoder, given = ours(MINILM, 2048), inputs(2048)
    trace = vz.capture(encoder, given)[0]
    return ratio(lambda: trace.attention(3, 5), lambda: run(encoder, given), rounds)


def sweep(rounds: int) -> float:
    encoder, given = ours(BASE, 2048), inputs(2048)
    trace = vz.capture(encoder, given)[0]

    def plain() -> None:
        with torch.inference_mode():
            encoder.model(given.values)

    return ratio(lambda: survey(trace), plain, rounds)


def sweep_with_proof(n_tokens: int) -> Callable[[int], float]:
    """Thumbnails, statistics and the proof of a run of which nothing is known, on 2 threads."""

    def measure(rounds: int) -> float:
        torch.set_num_threads(2)
        encoder, given = ours(MINILM, n_tokens), inputs(n_tokens)
        trace = vz.capture(encoder, given)[0]

        def plain() -> None:
            with torch.inference_mode():
                encoder.model(given.values)

        def together() -> None:
            unknown = replace(trace, layers=tuple(replace(layer) for layer in trace.layers))
            survey(unknown)
            assert unknown.proof.passed

        return ratio(together, plain, rounds)

    return measure


def selection_megabytes(rounds: int) -> float:
    most = 0
    for n_tokens in (300, 512, 1500, 4096):
        trace = vz.capture(ours(MINILM, n_tokens), inputs(n_tokens))[0]
        everything = slice(0, n_tokens)
        tile = overview(trace, 3, 5, rows=everything, keys=everything)
        row = 4 * n_tokens  # the exact row that comes with it
        most = max(most, tile.values.nbytes + row)
    return most / 1e6


def beside_a_forward(
    work: Callable[[LoadedEncoder, Inputs], object], n_tokens: int
) -> Callable[[int], float]:
    """Work on one text, as MiniLM's shape reads it, beside its plain forward pass."""

    def measure(rounds: int) -> float:
        encoder, given = ours(MINILM, n_tokens), inputs(n_tokens)

        def plain() -> None:
            with torch.inference_mode():
                encoder.model(given.values)

        return ratio(lambda: work(encoder, given), plain, rounds)

    return measure


def all_heads_removed(n_tokens: int) -> Callable[[int], float]:
    """Each of MiniLM's 72 heads alone, measured on the pooled vector."""
    return beside_a_forward(partial(vz.effect, measure="pooled"), n_tokens)


def heads_apart(n_tokens: int) -> Callable[[int], float]:
    """Jensen–Shannon distances of all 72 heads to each other, as a corpus has them for a text."""
    return beside_a_forward(lambda encoder, given: sampled_distances(encoder, [given]), n_tokens)


def one_by_one_against_batches(rounds: int) -> float:
    """Both on 2 threads, pooled the same way, with the built-in texts and their real lengths."""
    torch.set_num_threads(2)
    encoder = vz.load("all-MiniLM-L6-v2", device="cpu")
    texts = built_in_texts(N_TEXTS)

    def one_by_one() -> None:
        for text in texts:
            trace = vz.capture(encoder, text)
            vz.pool(trace.output, trace.valid, "mean").numpy()

    def batched() -> None:
        collection(encoder, texts, methods=["mean"], states=[-1])

    return ratio(one_by_one, batched, rounds)


def corpus_cost(n_words: int | None) -> Callable[[int], float]:
    """Statistics, roles and examples of every head, reading not counted, ÷ the plain batches."""

    def work(encoder: LoadedEncoder, groups: Groups) -> None:
        sums = HeadSums.empty(encoder.config.n_layers, encoder.config.n_heads)
        for group, part in groups:
            sums.add(measured(tuple(group), part, run(encoder, part)))

    return beside_plain_batches(work, n_words)


def vectors_cost(n_words: int | None) -> Callable[[int], float]:
    """The vectors that MiniLM declares, with what the encoder's run costs for them."""

    def work(encoder: LoadedEncoder, groups: Groups) -> None:
        for _, part in groups:
            VectorSums.of(pooled_vectors(encoder, part, run(encoder, part), "declared"))

    return beside_plain_batches(work, n_words)


def beside_plain_batches(
    work: Callable[[LoadedEncoder, Groups], None], n_words: int | None
) -> Callable[[int], float]:
    """Work on batches of texts as a corpus has them, beside the plain forward passes."""

    def measure(rounds: int) -> float:
        encoder = vz.load("all-MiniLM-L6-v2", device="cpu")
        texts = built_in_texts(200) if n_words is None else long_texts(8, n_words)
        read = [encoder.read(text) for text in texts]
        numbers = list(by_length(encoder, dict(enumerate(read))))
        groups = [(group, joined(encoder, [read[at] for at in group])) for group in numbers]

        def plain() -> None:
            with torch.inference_mode():
                for _, part in groups:
                    encoder.model(*arguments(encoder, part))

        return ratio(lambda: work(encoder, groups), plain, rounds)

    return measure


def built_in_texts(n: int) -> list[str]:
    sets = [read_set(asset(f"examples/sets/{n}.csv")) for n in ("topics", "bank", "paraphrases")]
    texts = [str(item.source) for items in sets for item in items]
    return (texts * (n // len(texts) + 1))[:n]


def long_texts(n: int, n_words: int) -> list[str]:
    """Texts of so many words, each in another order; nearly as many tokens."""
    words = " ".join(built_in_texts(120)).replace(".", "").lower().split()
    return [" ".join(random.Random(at).sample(words, n_words)) for at in range(n)]


N_TEXTS, EVERY = 500, 200
LENGTHS = (128, 256, 512, 1024, 2048)
ROWS = [
    *(
        Row(f"our forward with capture ÷ without, {shape.name}, T = {n}", "≤ 1.03", capture_cost(shape, n))
        for shape in (MINILM, BASE)
        for n in LENGTHS
    ),
    *(
        Row(f"record() on transformers sdpa ÷ without, MiniLM, T = {n}", "≤ 1.05", record_cost(n))
        for n in LENGTHS[1:]
    ),
    *(
        Row(f"record() on torch.nn's fused path ÷ without, MiniLM, T = {n}{', padded' * padded}", "≤ 1.2", fused_cost(n, padded=padded))
        for padded in (False, True)
        for n in (64, 256, 512)
    ),
    *(
        Row(f"a training with vz.watch(every=200) takes longer than without by, MiniLM, {b} samples of T = {n}", "≤ 2", watched_training(MINILM, b, n), "%")
        for b, n in ((8, 128), (16, 64), (4, 512))
    ),
    *(
        Row(f"a training step with vz.watch(every=1) ÷ without, torch.nn, d_model 128, 4 layers, 8 samples of T = {n}", "≤ 1.5", watched_step(n))
        for n in (64, 128, 256)
    ),
    Row("transformers eager with output_attentions ÷ ours with capture, MiniLM, T = 2,048", "≥ 2.5", eager_against_ours),
    Row("the same, large maps in fresh memory, as glibc gives it", "≥ 2.5", eager_against_ours, fresh=True),
    Row("memory held, eager with attentions and hidden states ÷ ours, BERT-base, T = 2,048", "≥ 8", memory_against_eager),
    Row("bytes held by a trace as T doubles, BERT-base, 1,024 → 2,048", "× 2", growth),
    Row("one head's full map ÷ one captured forward pass, MiniLM, T = 2,048", "≤ 0.1", one_map),
    Row("all thumbnails and statistics in one sweep ÷ one forward pass, BERT-base, T = 2,048", "≤ 1.2", sweep),
    *(
        Row(f"thumbnails, statistics and proof in one sweep ÷ one forward pass, MiniLM, T = {n:,}, 2 threads", "≤ 2.0", sweep_with_proof(n))
        for n in (512, 2048, 4096, 8192)
    ),
    *(
        Row(f"the effect of removing each of 72 heads ÷ one forward pass, MiniLM, T = {n}", f"≤ {limit}", all_heads_removed(n))
        for n, limit in ((15, 20), (130, 35), (512, 60))
    ),
    *(
        Row(f"distances of all 72 heads to each other ÷ one forward pass, MiniLM, T = {n}", "stated", heads_apart(n))
        for n in (15, 130, 512)
    ),
    Row("500 sentences one by one ÷ pooled in length-sorted batches, MiniLM, 2 threads", "≥ 3", one_by_one_against_batches),
    *(
        Row(f"an audit of {n:,} tokens, 4 layers, 4 heads: processor seconds, for two cores to share", f"≤ {limit}", audit_seconds(n), "s")
        for n, limit in ((512, 10), (2048, 120))
    ),
    *(
        Row(f"the same of {n:,} tokens, where the mask is inverted: a FAIL with its cause", "stated", audit_seconds(n, wrong=True), "s")
        for n in (512, 1024, 2048)
    ),
    Row("corpus: all statistics, roles and examples of 200 short texts ÷ plain batches, MiniLM", "≤ 1.3", corpus_cost(None)),
    *(
        Row(f"the same, 8 texts of about {n} tokens", "stated", corpus_cost(n_words))
        for n, n_words in ((128, 105), (512, 430))
    ),
    Row("corpus: pooled vectors of 200 short texts ÷ plain batches, MiniLM", "stated", vectors_cost(None)),
    *(
        Row(f"corpus: pooled vectors of 8 texts of about {n} tokens ÷ plain batches, MiniLM, which declares 256", "stated", vectors_cost(n_words))
        for n, n_words in ((128, 105), (512, 430))
    ),
    Row("resident memory after 100,000 short texts of a corpus ÷ after 10,000, random weights, 4 layers × 4 heads", "≤ 1.05", growth_over_texts, fresh=True),
    Row("resident memory after 1,000 runs ÷ after 300, different texts of 19 words, MiniLM, 32 MB of runs held", "≤ 1.05", growth_of_memory, fresh=True),
    Row("sent to the page for one selection, the most at T = 300 … 4,096", "≤ 1.5", selection_megabytes, "MB"),
]  # fmt: skip


def gpu_cost(n_tokens: int) -> Callable[[int], float]:
    def measure(rounds: int) -> float:
        encoder = ours(BASE, n_tokens, "cuda", torch.bfloat16)
        given = inputs(n_tokens)

        def plain() -> None:
            with torch.inference_mode():
                encoder.model(given.values.to("cuda"))

        return ratio(lambda: run(encoder, given), plain, 5 * rounds)

    return measure


GPU_ROWS = [
    Row(f"capture ÷ without on CUDA, BERT-base, bfloat16, T = {n}", "stated", gpu_cost(n))
    for n in (512, 4096, 8192)
]
