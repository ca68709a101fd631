"""The sample file of `completiond demo` and the places in it that are completed."""
