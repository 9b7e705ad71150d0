"""Two pages beside the built ones, one file each, that work offline: the lesson, and a run."""

from pathlib import Path
from typing import Any

import viz_encoder as vz
from viz_encoder.cli import main

LESSON, RUN = "lesson.html", "run.html"
TEXT = "The animal didn't cross the street because it was too tired"


def write(folder: Path) -> None:
    """Write both into a folder."""
    main(["lesson", "-o", str(folder / LESSON)])
    trace = vz.capture(vz.load("all-MiniLM-L6-v2"), TEXT)
    trace.show(layer=5, head=11, query="it").save(folder / RUN)


def setup(app: Any) -> dict[str, bool]:
    """Write them where HTML was built without a fault."""

    def finished(app: Any, fault: Exception | None) -> None:
        if fault is None and app.builder.format == "html":
            write(Path(app.outdir))

    app.connect("build-finished", finished)
    return {"parallel_read_safe": True}
