"""The commands: each module adds its arguments to the parser and runs one command."""
