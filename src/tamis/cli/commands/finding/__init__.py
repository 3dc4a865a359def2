"""Commands that find something, and make no model that predicts."""
