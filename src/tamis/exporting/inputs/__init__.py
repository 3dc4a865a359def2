"""What a model looks at: fields of a record, texts, and the steps of a Pipeline before it."""
