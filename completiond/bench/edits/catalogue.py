"""The releases whose differences are replayed: permissively licensed, pure Python, most from after 2024-10, so that a
model of that year has not read the newer ones. networkx and Pint ship their tests in the wheel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["HISTORIES", "History", "Release"]


@dataclass(frozen=True, slots=True)
class Release:
    """A wheel on the Python package index. ``sha256``, in hex, is that of the whole file."""

    project: str
    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"


@dataclass(frozen=True, slots=True)
class History:
    """Releases of a project, oldest first; each and the one after it are a session. ``licence``: its SPDX name."""

    project: str
    licence: str
    releases: tuple[Release, ...]


def _history(project: str, licence: str, *releases: tuple[str, str]) -> History:
    """``releases``: version and SHA-256 of each."""
    return History(project, licence, tuple(Release(project, version, sha256) for version, sha256 in releases))


HISTORIES: Final = (
    _history(
        "httpx",
        "BSD-3-Clause",
        ("0.27.2", "7bb2708e112d8fdd7829cd4243970f0c223274051cb35ee80c03301ee29a3df0"),
        ("0.28.1", "d909fcccc110f8c7faf814ca82a9a4d816bc5a6dbfea25d6591d6985b8ba59ad"),
    ),
    _history(
        "starlette",
        "BSD-3-Clause",
        ("0.41.3", "44cedb2b7c77a9de33a8b74b2b90e9f50d11fcf25d8270ea525ad71a25374ff7"),
        ("0.47.3", "89c0778ca62a76b826101e7c709e70680a1699ca7da6b44d38eb0a7e61fe4b51"),
        ("1.0.0", "d3ec55e0bb321692d275455ddfd3df75fff145d009685eb40dc91fc66b03d38b"),
    ),
    _history(
        "requests",
        "Apache-2.0",
        ("2.32.5", "2462f94637a34fd532264295e186976db0f5d453d1cdd31473c85a6a161affb6"),
        ("2.34.2", "2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0"),
    ),
    _history(
        "flask",
        "BSD-3-Clause",
        ("3.0.3", "34e815dfaa43340d1d15a5c3a02b8476004037eb4840b34910c6e21679d288f3"),
        ("3.1.2", "ca1d8112ec8a6158cc29ea4858963350011b5c846a414cdb7a954aa9e967d03c"),
    ),
    _history(
        "pygls",
        "Apache-2.0",
        ("2.0.1", "d29748042cea5bedc98285eb3e2c0c60bf3fc73786319519001bf72bbe8f36cc"),
        ("2.1.1", "510a6dea2476177230c7d851125e5948efdf3fdb9ebfd8543fc434972f8faed4"),
    ),
    _history(
        "llm",
        "Apache-2.0",
        ("0.19", "b92dea1ede673fe23a4109056df0607068f96afc50ae20db83c0316a6764330d"),
        ("0.23", "3c6fe7ee80104e0e5dee0eb98a1b2ad00d4874535bbf6fe9578380062cf1ee6d"),
        ("0.27.1", "a884a575062fbea8c2b129708a80e146fa9682bd1c444d8d7b028196107de727"),
    ),
    _history(
        "rich",
        "MIT",
        ("13.9.4", "6049d5e6ec054bf2779ab3358186963bac2ea89175919d699e378b99738c2a90"),
        ("14.3.4", "07e7adb4690f68864777b1450859253bed81a99a31ac321ac1817b2313558952"),
    ),
    _history(
        "click",
        "BSD-3-Clause",
        ("8.1.8", "63c132bbbed01578a06712a2d1f497bb62d9c1c0d329b7903a866228027263b2"),
        ("8.3.3", "a2bf429bb3033c89fa4936ffb35d5cb471e3719e1f3c8a7c3fff0b8314305613"),
    ),
    _history(
        "attrs",
        "MIT",
        ("24.3.0", "ac96cd038792094f438ad1f6ff80837353805ac950cd2aa0e0625ef19850c308"),
        ("26.1.0", "c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309"),
    ),
    _history(
        "anyio",
        "MIT",
        ("4.8.0", "b5011f270ab5eb0abf13385f851315585cc37ef330dd88e27ec3d34d651fd47a"),
        ("4.12.1", "d405828884fc140aa80a3c667b8beed277f1dfedec42ba031bd6ac3db606ab6c"),
    ),
    _history(
        "werkzeug",
        "BSD-3-Clause",
        ("3.0.6", "1bc0c2310d2fbb07b1dd1105eba2f7af72f322e1e455f2f93c993bee8c8a5f17"),
        ("3.1.8", "63a77fb8892bf28ebc3178683445222aa500e48ebad5ec77b0ad80f8726b1f50"),
    ),
    _history(
        "networkx",
        "BSD-3-Clause",
        ("3.4.2", "df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f"),
        ("3.5", "0030d386a9a06dee3565298b4a734b68589749a544acbb6c412dc9e2489ec6ec"),
        ("3.6.1", "d47fbf302e7d9cbbb9e2555a0d267983d2aa476bac30e90dfbe5669bd57f3762"),
    ),
    _history(
        "pint",
        "BSD-3-Clause",
        ("0.24.4", "aa54926c8772159fcf65f82cc0d34de6768c151b32ad1deb0331291c38fe7659"),
        ("0.25.3", "27eb25143bd5de9fcc4d5a4b484f16faf6b4615aa93ece6b3373a8c1a3c1b97d"),
    ),
    _history(
        "jsonschema",
        "MIT",
        ("4.23.0", "fbadb6f8b144a8f8cf9f0b89ba94501d143e50411a1278633f56a7acf7fd5566"),
        ("4.26.0", "d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce"),
    ),
    _history(
        "fsspec",
        "BSD-3-Clause",
        ("2024.10.0", "03b9a6785766a4de40368b88906366755e2819e758b83705c88cd7cb5fe81871"),
        ("2025.12.0", "8bf1fe301b7d8acfa6e8571e3b1c3d158f909666642431cc78a1b7b4dbc5ec5b"),
    ),
)
