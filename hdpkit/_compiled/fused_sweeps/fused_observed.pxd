"""Bugs that tests plant in the fused sweep of observed dishes; only scripted sweeps can have them, at no cost to
production. Beside each stands the check that catches it, and what it is: tests/bugs/fused.py reads them here.
"""

cpdef enum Fault:
    NO_FAULT

    # which table is left
    REMOVAL_BY_TABLE  # check_steps: The table that is left is drawn among tables, not by its customers.
    REMOVAL_WITH_DISCOUNT  # check_steps: A table is left with weight s - d for s.

    # predictives
    DISCOUNT_IGNORED  # check_steps: A dish's share in a parent is n_k for n_k - d t_k.
    DISCOUNT_ONCE  # check_steps: It is n_k - d.
    CONCENTRATION_OF_THE_CHILD  # check_steps: A parent's theta is that of the restaurant below it.
    OPENING_WITHOUT_DISCOUNT  # check_steps: A parent opens with theta for theta + d T.
    OPENING_BY_THE_DISH  # check_steps: A table opens with theta + d t of the dish for theta + d T.
    CUSTOMER_NOT_REMOVED  # check_steps: A parent counts the table that has closed below.
    CLOSED_TABLE_STILL_COUNTED  # check_steps: T counts the table that has closed.
    PARENT_LEFT_OUT  # check_steps: A predictive has no share of the one above.
    STRAIGHT_TO_THE_BASE  # check_steps: Every restaurant has H above it.
    BASE_LEFT_OUT  # check_steps: H is 1.
    BASE_OF_THE_BATCH  # check_sweeps: H of the first customer of a batch for all of it.

    # where a customer sits
    SHARE_WITHOUT_DISCOUNT  # check_steps: The only table of a dish is joined with n for n - d.
    NEW_TABLE_WITHOUT_PARENT  # check_steps: A table opens with theta + d T, without the parent's share.
    NEW_TABLE_WITHOUT_DISCOUNT  # check_steps: A table opens with theta for theta + d T.
    COIN_REVERSED  # check_steps: A table is joined as often as one should open.
    JOIN_WITHOUT_DISCOUNT  # check_steps: Of several tables one is joined with s for s - d.
    JOIN_BY_SIZE_ALONE  # check_steps: Tables of one size have the weight of one of them.
    TABLE_THAT_WAS_LEFT_OUT  # check_steps: Nobody comes back to the table that was left.
    TABLE_THAT_WAS_LEFT_TWICE  # check_steps: The table that was left is among the others too.
    TABLE_THAT_WAS_LEFT_FULL  # check_steps: The table that was left still counts its customer.
    LAST_TABLE_LEFT_OUT  # check_steps: The last table can't be joined: a truncated sum.
    SHIFTED_CHOICE  # check_steps: The table after the one that was drawn.

    # what is written
    LONE_TABLE_FOR_LONE_CUSTOMER  # check_one_law: All of a dish's only table moves for one customer: exact, but another kernel.
    CLOSING_NOT_PASSED_UP  # check_steps: A table closes, and its parent isn't told.
    OPENING_NOT_PASSED_UP  # check_steps: A table opens, and its parent doesn't count it.
    TABLES_NOT_COUNTED  # check_steps: T stays as it was.
    LARGEST_CLOSES  # check_steps: A histogram loses its largest table for the one that closed.
    STALE_SIZES  # check_steps: A histogram keeps the size of the table that was left.
    LAST_OF_BATCH_LEFT_OUT  # check_one_law: The last customer of a batch stays where it is.
