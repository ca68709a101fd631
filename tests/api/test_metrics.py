"""What Prometheus reads, parsed by its own parser."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.api.daemon import Api
from tests.e2e.harness import Editor

REPEATED = "one\n    two\n    three\n"


async def samples(api: Api) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    reply = await api.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(reply.body)
        for sample in family.samples
    }


def value(found: dict[Any, float], name: str, **labels: str) -> float:
    return found.get((f"completiond_{name}", frozenset(labels.items())), 0.0)


async def test_drafts_answers_and_times_are_counted(api: Api) -> None:
    before = await samples(api)
    fill = {"input_prefix": f"def f():\n    {REPEATED}def g():\n", "input_suffix": "\n", "prompt": "    "}
    reply = (await api.post("/infill", fill)).json
    again = (await api.post("/infill", fill)).json
    cut = (await api.post("/completion", {"prompt": "<|fim_middle|>", "n_predict": 2})).json
    found = await samples(api)

    assert again["content"] == reply["content"]
    assert value(before, "spec_decode_num_drafts_total") == 0
    drafted = reply["timings"]["draft_n"] + cut["timings"]["draft_n"]
    accepted = reply["timings"]["draft_n_accepted"] + cut["timings"]["draft_n_accepted"]
    assert value(found, "spec_decode_num_drafts_total") > 0
    assert value(found, "spec_decode_num_draft_tokens_total") == drafted
    assert value(found, "spec_decode_num_accepted_tokens_total") == accepted > 0
    places = {
        int(dict(labels)["position"]): count
        for (name, labels), count in found.items()
        if name == "completiond_spec_decode_num_accepted_tokens_per_pos_total"
    }
    assert sum(places.values()) == accepted
    assert sorted(places.values(), reverse=True) == [places[place] for place in sorted(places)]
    assert value(found, "requests_total", reason=reply["stop_reason"]) == 2
    assert value(found, "requests_total", reason="length") == 1
    assert value(found, "answers_total", served_from="engine") == 2
    assert value(found, "answers_total", served_from="cache") == 1
    assert value(found, "time_to_first_token_seconds_count") == 2
    assert value(found, "inter_token_latency_seconds_count") >= 1
    assert value(found, "prompt_tokens_total") == reply["tokens_evaluated"] + cut["tokens_evaluated"]


async def test_editors_answers_count_too_and_no_text_is_told(api: Api) -> None:
    await samples(api)
    async with Editor.on_socket(api.paths) as editor:
        await editor.initialize()
        editor.open("file:///p/private_name.py", "def secret_name():\n    \n")
        assert (await editor.complete("file:///p/private_name.py", 1, 4))["items"]
    body = (await api.get("/metrics")).body

    assert 'completiond_answers_total{served_from="engine"} 1.0' in body
    for word in ("private_name", "secret_name", "three"):
        assert word not in body


async def test_events_of_plugins_are_counted_by_kind(api: Api) -> None:
    for kind in ("view", "view", "select", "dismiss"):
        assert (await api.post("/v1/events", {"type": kind, "completion_id": "x", "choice_index": 0})).status == 200
    wrong = await api.post("/v1/events", {"type": "def secret(): ..."})
    found = await samples(api)

    assert (wrong.status, wrong.json["error"]["param"]) == (400, "type")
    assert "secret" not in wrong.body
    counts = {kind: value(found, "client_events_total", type=kind) for kind in ("view", "select", "dismiss")}
    assert counts == {"view": 2, "select": 1, "dismiss": 1}
    assert "secret" not in (await api.get("/metrics")).body
