"""Write minilm_mean_pooled.json: sentence-transformers' mean pooling of a few sentences.

`vectors` are of each sentence encoded by itself, `batched` of all of them padded into one batch
(the two differ by 1e-6: float32 rounds otherwise with padding), `cosines` of the normalized ones.
Run with sentence-transformers installed beside the test requirements.
"""

import json
from pathlib import Path

import sentence_transformers
import torch

from viz_encoder.checkpoints import BUILTIN

SENTENCES = [
    "The animal didn't cross the street because it was too tired",
    "The bank approved the loan",
    "They sat on the bank of the river, watching the boats go by until it was dark.",
    "x",
    "¿Dónde está la biblioteca? 12,345.67 — naïve café!",
]


def rounded(rows: list[list[float]]) -> list[list[float]]:
    return [[round(x, 9) for x in row] for row in rows]


if __name__ == "__main__":
    from sentence_transformers import models

    transformer = models.Transformer(str(BUILTIN["all-MiniLM-L6-v2"].folder()))
    pooling = models.Pooling(384, pooling_mode="mean")
    model = sentence_transformers.SentenceTransformer(modules=[transformer, pooling], device="cpu")
    with torch.no_grad():
        vectors = [model.encode(sentence, convert_to_numpy=True).tolist() for sentence in SENTENCES]
        batched = model.encode(SENTENCES, batch_size=len(SENTENCES), convert_to_tensor=True)
        alone = torch.tensor(vectors, dtype=torch.float64)
        unit = torch.nn.functional.normalize(alone, dim=1)
    content = {
        "made_with": f"sentence-transformers {sentence_transformers.__version__}",
        "sentences": SENTENCES,
        "vectors": rounded(vectors),
        "batched": rounded(batched.tolist()),
        "cosines": rounded((unit @ unit.T).tolist()),
    }
    path = Path(__file__).parent / "minilm_mean_pooled.json"
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n")
    print(f"wrote {path.name}")
