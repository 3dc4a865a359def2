"""Files to rows: readers of text, tables and arrays, in constant memory."""
