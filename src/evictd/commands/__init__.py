"""The commands: each module adds its arguments to the parser and runs one command.

`inputs` reads the files that commands name, `played` plays worlds, and `decided` decides the cycle of an eviction again.
"""
