"""Bugs that tests plant in the fused sweep of observed dishes; only scripted sweeps can have them.

They have no cost in production. The comment at each names the check that detects it and describes it;
tests/bugs/fused.py reads these comments.
"""

cpdef enum Fault:
    NO_FAULT

    # the table to leave
    REMOVAL_BY_TABLE  # check_steps: The table to leave is drawn among tables, not by its customers.
    REMOVAL_WITH_DISCOUNT  # check_steps: A table is left with weight s - d instead of s.

    # predictives
    DISCOUNT_IGNORED  # check_steps: A dish's share in a parent is n_k instead of n_k - d t_k.
    DISCOUNT_ONCE  # check_steps: It is n_k - d.
    CONCENTRATION_OF_THE_CHILD  # check_steps: A parent has the theta of the restaurant below it.
    OPENING_WITHOUT_DISCOUNT  # check_steps: A parent opens tables with theta instead of theta + d T.
    OPENING_BY_THE_DISH  # check_steps: A table opens with theta + d t of the dish instead of theta + d T.
    CUSTOMER_NOT_REMOVED  # check_steps: A parent counts a table that has closed below.
    CLOSED_TABLE_STILL_COUNTED  # check_steps: T includes the table that has closed.
    PARENT_LEFT_OUT  # check_steps: A predictive doesn't include the parent's.
    STRAIGHT_TO_THE_BASE  # check_steps: The parent's predictive is H in every restaurant.
    BASE_LEFT_OUT  # check_steps: H is 1.
    BASE_OF_THE_BATCH  # check_sweeps: H of the first customer of a batch is used for all of it.

    # the new seat
    SHARE_WITHOUT_DISCOUNT  # check_steps: The only table of a dish is joined with n instead of n - d.
    NEW_TABLE_WITHOUT_PARENT  # check_steps: A table opens with theta + d T, without the parent's share.
    NEW_TABLE_WITHOUT_DISCOUNT  # check_steps: A table opens with theta instead of theta + d T.
    COIN_REVERSED  # check_steps: The probabilities of joining and opening are exchanged.
    JOIN_WITHOUT_DISCOUNT  # check_steps: One of several tables is joined with s instead of s - d.
    JOIN_BY_SIZE_ALONE  # check_steps: All tables of a size together have the weight of one of them.
    TABLE_THAT_WAS_LEFT_OUT  # check_steps: No customer returns to the table that it left.
    TABLE_THAT_WAS_LEFT_TWICE  # check_steps: The table that was left is also among the others.
    TABLE_THAT_WAS_LEFT_FULL  # check_steps: The table that was left still counts its customer.
    LAST_TABLE_LEFT_OUT  # check_steps: The last table can't be joined: a truncated sum.
    SHIFTED_CHOICE  # check_steps: The table after the drawn one is taken.

    # writing the result
    LONE_TABLE_FOR_LONE_CUSTOMER  # check_one_law: The only table of a dish is treated as one with a single customer: exact, but another kernel.
    CLOSING_NOT_PASSED_UP  # check_steps: A table closes, but its parent is not updated.
    OPENING_NOT_PASSED_UP  # check_steps: A table opens, but its parent doesn't count it.
    TABLES_NOT_COUNTED  # check_steps: T is not updated.
    LARGEST_CLOSES  # check_steps: A histogram loses its largest table instead of the one that closed.
    STALE_SIZES  # check_steps: A histogram keeps the size of the table that was left.
    LAST_OF_BATCH_LEFT_OUT  # check_one_law: The last customer of a batch is not reseated.
