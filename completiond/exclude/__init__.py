"""What may not be read from a user's repository: secret names, secrets in texts, ignore files, the user's own globs."""
