"""Multi-task feature selection."""
