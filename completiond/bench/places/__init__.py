"""Judge suggestions at hand-written places, in files that are in no training set: ``completiond bench places``."""
