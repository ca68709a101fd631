"""Which models exist, where their files come from, and whether the files on this machine are whole."""
