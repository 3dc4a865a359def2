"""The sieve."""
