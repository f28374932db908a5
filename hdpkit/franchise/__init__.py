"""The franchise: declarations, trees, customers, dishes, seating, hyperparameters, frozen forms, starts."""
