"""A real HTTP server on this machine that answers ``/infill`` as a test wants it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answer", "Asked", "serve"]

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]
"""Status and body of the reply to an order; with status 0 the connection is closed without one."""
Asked = list[tuple[str, dict[str, Any]]]
"""Path and order of each request so far."""


@contextmanager
def serve(answer: Answer) -> Iterator[tuple[str, Asked]]:
    """The server's address and what it is asked."""
    asked: Asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, order))
            status, body = answer(order)
            if status == 0:
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
