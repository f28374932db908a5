"""The franchise: declarations, trees, customers, dishes, seating, hyperparameters, frozen forms, starts."""

from hdpkit.franchise.state_homes import HomeState, StateHomes

__all__ = ["HomeState", "StateHomes"]
