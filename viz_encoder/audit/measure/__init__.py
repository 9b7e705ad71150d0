"""What is measured of a model: its maps, its gradients, who can reach whom."""
