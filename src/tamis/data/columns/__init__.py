"""What the columns of a table are: figures of them, their kinds, and what they become."""
