"""What stands out in a run, by its route and by its named endpoint."""

from importlib import import_module

import httpx
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.ui.reruns import entry_of
from tests.ui.texts import SENTENCES
from viz_encoder.analyses.findings import findings
from viz_encoder.ui.tabs.explore.plain_findings import plain_findings

store = import_module("viz_encoder.ui.state.store")
TEXT = SENTENCES[0]
FIELDS = ["kind", "layer", "head", "query", "key", "weight", "ratio", "sentence", "chip", "heads"]


def test_route_and_endpoint_give_the_findings_of_the_run(site, client, minilm):
    key = client.predict(TEXT, api_name="/run_text")["key"]
    expected = findings(vz.capture(minilm, TEXT))
    answer = httpx.get(f"{site}viz/run/{key}/findings", timeout=60)
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    named = client.predict(key, api_name="/findings")
    for found in (answer.json(), named):
        assert found["sentence"] == expected.sentence and len(found["found"]) == len(expected) == 6
        for plain, finding in zip(found["found"], expected, strict=True):
            assert list(plain) == FIELDS
            for field in FIELDS[:5] + FIELDS[7:9]:
                assert plain[field] == getattr(finding, field), field
            assert plain["weight"] == pytest.approx(finding.weight, abs=2e-5)
            assert plain["ratio"] == pytest.approx(finding.ratio, rel=2e-4)
            assert [tuple(place) for place in plain["heads"]] == list(finding.heads)


def test_they_are_computed_once_and_asked_again_after_a_failure(minilm, monkeypatch):
    entry = entry_of(vz.capture(minilm, "A short one"))
    calls = []

    def counted(trace):
        calls.append(trace)
        if len(calls) == 1:
            raise MemoryError
        return findings(trace)

    monkeypatch.setattr(store, "findings", counted)
    with pytest.raises(MemoryError):
        entry.findings()
    first = entry.findings()
    assert entry.findings() is first and len(calls) == 2


def test_what_is_read_from_right_to_left_stays_isolated_and_no_sign_is_hidden(minilm):
    """The sentence keeps its own isolation; what turns text in a token is written out."""
    trace = vz.capture(minilm, "ذهب الولد إلى المدرسة في الصباح الباكر")
    found = plain_findings(findings(trace))
    assert "“\u2068" in found["sentence"] and "\u2069”" in found["sentence"]
    assert "\u2068" in found["found"][0]["chip"]
    turned = findings(trace)
    hostile = turned.found[0].__class__(
        **{field: getattr(turned.found[0], field) for field in FIELDS[:7]},
        sentence="Head 0.0 links “\u202eit” to “a”",
        chip="0.0 \u202eit → a",
        heads=((0, 0),),
    )
    plain = plain_findings(type(turned)((hostile,)))
    assert "\u202e" not in plain["sentence"] + plain["found"][0]["chip"]


def test_a_run_that_is_not_there(site, client):
    answer = httpx.get(f"{site}viz/run/nonsense/findings")
    assert answer.status_code == 410 and "This run has expired" in answer.json()["message"]
    with pytest.raises(AppError, match="This run has expired"):
        client.predict("nonsense", api_name="/findings")
