"""Evidence that may be looked at after every block of a stream: the trial and its page."""
