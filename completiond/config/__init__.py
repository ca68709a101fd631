"""Settings: one frozen, validated object (``Config``), and where its values are from. See docs/configuration.md."""

from completiond.config.load import load_config
from completiond.config.problem import Problem
from completiond.config.sections import (
    CacheConfig,
    CompletionConfig,
    Config,
    EngineConfig,
    ExcludeConfig,
    ModelConfig,
    PromptConfig,
    SpecConfig,
)

__all__ = [
    "CacheConfig",
    "CompletionConfig",
    "Config",
    "EngineConfig",
    "ExcludeConfig",
    "ModelConfig",
    "Problem",
    "PromptConfig",
    "SpecConfig",
    "load_config",
]
