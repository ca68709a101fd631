"""Settings in environment variables, ``COMPLETIOND_<SECTION>_<KEY>``."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from completiond.config.doubt import doubt_about
from completiond.config.layer import Layer
from completiond.config.problem import Origin, Problem
from completiond.config.setting import all_settings
from completiond.config.value import from_text

__all__ = ["ENVIRONMENT_PREFIX", "layer_of_environment"]

ENVIRONMENT_PREFIX = "COMPLETIOND_"
_OTHERS = frozenset((
    "COMPLETIOND_CACHE_DIR", "COMPLETIOND_CONFIG_DIR", "COMPLETIOND_RUNTIME_DIR", "COMPLETIOND_STATE_DIR",
    "COMPLETIOND_SERVE_COMMAND", "COMPLETIOND_ENGINE_REMOTE_KEY",
))  # fmt: skip
"""Variables of ours that are not settings."""


def layer_of_environment(environment: Mapping[str, str]) -> Layer:
    """What the variables set. One with our prefix that nothing reads is a problem: it is misspelled."""
    values, problems = {}, []
    variables = {setting.variable: setting for setting in all_settings().values()}
    for variable in sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX)):
        origin = Origin("environment", variable)
        if (setting := variables.get(variable)) is not None:
            try:
                values[setting.name] = (from_text(setting, environment[variable]), origin)
            except ValueError as error:
                problems.append(Problem(origin, f"{error}."))
            else:
                if doubt := doubt_about(setting, values[setting.name][0]):
                    problems.append(Problem(origin, doubt, is_doubt=True))
        elif variable not in _OTHERS:
            names = [name.removeprefix(ENVIRONMENT_PREFIX) for name in variables]  # all would be alike by the prefix
            near = get_close_matches(variable.removeprefix(ENVIRONMENT_PREFIX), names, 1)
            hint = f" Did you mean {ENVIRONMENT_PREFIX}{near[0]}?" if near else ""
            problems.append(Problem(origin, f"is not a setting.{hint}"))
    return Layer(values, tuple(problems))
