"""The Corpus tab: what each head does over many texts, and where it is strongest."""

from typing import Any

import gradio as gr

from viz_encoder.errors import InputError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.corpus.results import measured
from viz_encoder.ui.tabs.corpus.routes import ROUTER, corpus_example
from viz_encoder.ui.wire.endpoints import in_queue
from viz_encoder.ui.wire.watch import watched


@in_queue("corpus")
def corpus(
    runner: Runner,
    content: str,
    model: str = "all-MiniLM-L6-v2",
    kind: str = "txt",
    column: str = "text",
    second: str = "",
) -> dict[str, Any]:
    """Every head over texts: one text per line, or a file's content with its kind.

    Kinds are csv, tsv, jsonl, and conllu for a treebank, whose relations are in the table too. With
    the name of a second column, rows are pairs of texts.
    Returns the table as `HeadTable.load` reads it from a .json file, with `words` for each
    statistic and `says`, which head leads by it.
    """
    if not isinstance(content, str):
        raise InputError(f"content is {type(content).__name__}; send text, one text per line.")
    name = f"texts.{str(kind)[:10].lstrip('.')}"
    sent = content.encode("utf-8", "replace")
    check = watched(runner.limits)
    return measured(runner, name, sent, model, str(column), check, str(second or ""))


ENDPOINTS = (corpus, corpus_example)


def build(place: TabContext) -> gr.HTML:
    """Lay it out; it opens on a table that ships, and needs no run."""
    return script_view("corpus/tab.js", elem_id="viz-corpus")


TAB = Tab("corpus", "Corpus", 80, build, ROUTER, ENDPOINTS)
