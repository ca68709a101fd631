"""Tells an editor what is wrong with settings: all in its log, and one message for what is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from completiond.config.problem import Problem
from completiond.config.repository_rules import REPOSITORY_FILE
from completiond.config.settings import Settings
from completiond.lsp.configuration import supports

if TYPE_CHECKING:
    from completiond.lsp.protocol import CompletionProtocol

__all__ = ["report_problems", "watch_settings"]


def report_problems(protocol: CompletionProtocol, settings: Settings, client_id: str) -> None:
    """From now on, tell the client of problems that concern it: of all there are, and of new ones, once each."""

    def tell(problems: Sequence[Problem]) -> None:
        for problem in problems:
            warning = types.LogMessageParams(type=types.MessageType.Warning, message=f"completiond: {problem}")
            protocol.notify(types.WINDOW_LOG_MESSAGE, warning)
        more = f" And {len(problems) - 1} more: `completiond status` shows all." if len(problems) > 1 else ""
        text = f"completiond: {problems[0]}{more}"
        protocol.notify(
            types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(type=types.MessageType.Warning, message=text)
        )

    settings.listen(client_id, tell)


def watch_settings(protocol: CompletionProtocol, settings: Settings) -> None:
    """Have the client say when settings change, its own and those in files, if it can only do so when it is asked.

    Of files that nobody watches, a change is seen at the next request.
    """
    capabilities, registrations = protocol.client_capabilities_json, []
    if supports(capabilities, "didChangeConfiguration", "dynamicRegistration"):
        own = types.DidChangeConfigurationRegistrationOptions(section="completiond")
        registrations.append(_registration(types.WORKSPACE_DID_CHANGE_CONFIGURATION, own))
    if supports(capabilities, "didChangeWatchedFiles", "dynamicRegistration"):
        watchers = [types.FileSystemWatcher(glob_pattern=f"**/{REPOSITORY_FILE}")]
        if supports(capabilities, "didChangeWatchedFiles", "relativePatternSupport"):
            users = types.RelativePattern(base_uri=settings.file.parent.as_uri(), pattern=settings.file.name)
            watchers.append(types.FileSystemWatcher(glob_pattern=users))
        files = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        registrations.append(_registration(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, files))
    if registrations:
        protocol.send_request(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams(registrations=registrations))


def _registration(method: str, options: object) -> types.Registration:
    return types.Registration(id=f"completiond {method}", method=method, register_options=options)
