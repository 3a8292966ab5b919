"""The `codednet` command: one file a subcommand, each a dataclass of options and a `run` that parses, calls, prints."""
