"""One module per group of terminal commands; cli.py puts them together."""
