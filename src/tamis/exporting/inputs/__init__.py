"""Inputs of an exported model: fields of a record, texts, and the steps of a Pipeline."""
