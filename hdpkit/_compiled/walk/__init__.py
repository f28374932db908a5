"""The tree of restaurants: the slots of dishes, the walk from root to restaurant, the tree of contexts."""
