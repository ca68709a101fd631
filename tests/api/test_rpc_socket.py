"""The msgpack-rpc socket as a file: private, removed in the end, replaced when it is left over."""

from __future__ import annotations

import os
import socket
import stat

import msgpack
import pytest

from completiond.paths import Paths
from tests.api.rpc_wire import RpcWire
from tests.e2e.harness import daemon_in_process, temporary_paths
from tests.fakes import FakeService
from tests.unprivileged import NOBODY


async def test_it_is_private_and_goes_with_the_daemon() -> None:
    with temporary_paths() as paths:
        paths.make_runtime_dir()
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(str(paths.rpc_socket))
        for _ in range(2):
            async with daemon_in_process(paths, FakeService()):
                assert stat.S_IMODE(paths.rpc_socket.stat().st_mode) == 0o600
                async with RpcWire.on_socket(paths.rpc_socket) as wire:
                    assert (await wire.request("status"))["phase"] == "ready"
            assert not paths.rpc_socket.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell who is at the other end")
async def test_another_user_is_refused_even_where_the_folder_is_open(
    rpc_paths: Paths, wire: RpcWire, caplog: pytest.LogCaptureFixture
) -> None:
    for path, mode in ((rpc_paths.runtime_dir.parent, 0o711), (rpc_paths.runtime_dir, 0o711)):
        path.chmod(mode)
    rpc_paths.rpc_socket.chmod(0o666)
    theirs = socket.socket(socket.AF_UNIX)
    os.seteuid(NOBODY)
    try:
        theirs.connect(str(rpc_paths.rpc_socket))
    finally:
        os.seteuid(0)
    assert (await wire.request("status"))["phase"] == "ready"
    with theirs:
        theirs.settimeout(30)
        try:
            theirs.sendall(msgpack.packb([0, 1, "status", []]))
            answer = theirs.recv(10)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
    assert answer == b""
    assert "Refused a client of another user" in caplog.text
