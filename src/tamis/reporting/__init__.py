"""Results to look at: figures (`Display` classes), one self-contained page, the evaluation."""
