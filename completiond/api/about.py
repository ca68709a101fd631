"""What clients ask before they ask for text: is it there, which model is it, what can it do."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from completiond import __version__
from completiond.api.context import API, service_of
from completiond.api.replies import LOADING, Json, error_body, error_reply, json_reply
from completiond.complete.request import ServiceState

__all__ = ["ROUTES", "generation_settings", "model_id"]

ROUTES: Final = web.RouteTableDef()


def model_id(state: ServiceState) -> str:
    """The model's name in answers: of a file or folder the last part."""
    return PurePath(state.model).name if state.model.startswith("/") else state.model


def generation_settings(state: ServiceState, **more: object) -> Json:
    """What clients of llama.cpp look up the context's size in."""
    return {"n_ctx": state.context_tokens, **more}


def _described(request: web.Request) -> Json:
    """The model, as OpenAI describes one."""
    state = service_of(request).state
    return {
        "id": model_id(state), "object": "model", "created": request.app[API].started_s, "owned_by": "completiond",
        "meta": {"n_ctx": state.context_tokens, "fim": state.fim},
    }  # fmt: skip


@ROUTES.get("/health")
@ROUTES.get("/v1/health")
async def health(request: web.Request) -> web.Response:
    """200 when answers can be had, else 503, as llama.cpp says it; ``model`` is what Tabby's clients look for."""
    state = service_of(request).state
    if state.phase == "ready":
        version = {"git_describe": __version__}
        ready = {"status": "ok", "model": model_id(state), "device": state.device, "version": version}
        return json_reply(ready)
    if state.phase == "loading":
        body = error_body(503, LOADING, f"Ask again in a moment: {state.detail}, {state.progress:.0%}.")
    else:
        settings = request.app[API].host.settings
        is_remote = settings is not None and settings.config.engine.remote
        # The reason may name folders and addresses, and anyone on the machine may ask here.
        what = "The server with the model cannot be asked." if is_remote else "The model could not be loaded."
        body = error_body(503, what, "`completiond status` says why, and how it is later.")
    return json_reply(body, 503)


@ROUTES.get("/v1/models")
@ROUTES.get("/models")
async def models(request: web.Request) -> web.Response:
    """The one model that is loaded, or is on its way."""
    return json_reply({"object": "list", "data": [_described(request)]})


@ROUTES.get("/v1/models/{id:.+}")
@ROUTES.get("/models/{id:.+}")
async def model(request: web.Request) -> web.Response:
    """The one of that name; the names of some have a ``/``."""
    described = _described(request)
    if request.match_info["id"] != described["id"]:
        return error_reply(404, "There is no model of that name here.", "GET /v1/models names the one there is.")
    return json_reply(described)


@ROUTES.get("/props")
async def props(request: web.Request) -> web.Response:
    """What the server is, in llama.cpp's words."""
    state = service_of(request).state
    return json_reply({
        "default_generation_settings": generation_settings(state),
        "total_slots": 1,
        "model_path": model_id(state),
        "is_sleeping": state.is_released,
        "build_info": f"completiond {__version__}",
    })  # fmt: skip


@ROUTES.get("/slots")
async def slots(request: web.Request) -> web.Response:
    """The one engine, as llama.cpp shows one: whether it is at work for someone here."""
    state = service_of(request).state
    slot = {
        "id": 0,
        "n_ctx": state.context_tokens,
        "speculative": True,
        "is_processing": request.app[API].num_running > 0,
    }
    return json_reply([slot])


@ROUTES.get("/metrics")
async def metrics(request: web.Request) -> web.Response:
    """https://prometheus.io/docs/instrumenting/exposition_formats."""
    return web.Response(body=request.app[API].metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})
