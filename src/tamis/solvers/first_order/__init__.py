"""First-order online learning: one lazy loop for every loss, penalty, rule and step."""
