"""The command line: parsers and words only."""
