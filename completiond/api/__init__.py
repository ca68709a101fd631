"""HTTP and msgpack-rpc on the daemon's sockets: adapters between clients and the service."""
