"""Settings in environment variables, ``COMPLETIOND_<SECTION>_<KEY>``."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from completiond.config.layer import Layer
from completiond.config.problem import Origin, Problem
from completiond.config.setting import all_settings
from completiond.config.value import from_text

__all__ = ["ENVIRONMENT_PREFIX", "layer_of_environment"]

ENVIRONMENT_PREFIX = "COMPLETIOND_"
_OTHERS = frozenset(
    ENVIRONMENT_PREFIX + name
    for name in ("CACHE_DIR", "CONFIG_DIR", "RUNTIME_DIR", "STATE_DIR", "SERVE_COMMAND")
    + ("ENGINE_REMOTE_KEY", "TEST_EDITORS", "TEST_NVIM")
)
"""Variables of ours that are not settings; the last two tell our tests which editors to run."""


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
        elif variable not in _OTHERS:
            near = get_close_matches(variable, variables, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            problems.append(Problem(origin, f"is not a setting.{hint}"))
    return Layer(values, tuple(problems))
