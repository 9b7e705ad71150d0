"""Write minilm_mean_pooled.json: sentence-transformers' mean pooling of a few sentences.

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

if __name__ == "__main__":
    from sentence_transformers import models

    transformer = models.Transformer(str(BUILTIN["all-MiniLM-L6-v2"].folder()))
    pooling = models.Pooling(384, pooling_mode="mean")
    model = sentence_transformers.SentenceTransformer(modules=[transformer, pooling], device="cpu")
    with torch.no_grad():
        vectors = [model.encode(sentence, convert_to_numpy=True).tolist() for sentence in SENTENCES]
    content = {
        "made_with": f"sentence-transformers {sentence_transformers.__version__}",
        "sentences": SENTENCES,
        "vectors": [[round(x, 9) for x in vector] for vector in vectors],
    }
    path = Path(__file__).parent / "minilm_mean_pooled.json"
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n")
    print(f"wrote {path.name}")
