"""HTTP on the daemon's socket, and on loopback TCP for who asks for it: adapters between clients and the service."""
