"""The operating system: files, terminal, threads, memory, progress; `schema` for model files."""
