"""Places of the bugs that tests plant in the fused sweep of observed dishes (`observed_faults.h`)."""

cdef extern from "observed_faults.h":
    enum:
        HDPKIT_FAULTS_END
        REMOVAL_BY_TABLE
        REMOVAL_WITH_DISCOUNT
        DISCOUNT_IGNORED
        DISCOUNT_ONCE
        CONCENTRATION_OF_THE_CHILD
        OPENING_WITHOUT_DISCOUNT
        OPENING_BY_THE_DISH
        CUSTOMER_NOT_REMOVED
        CLOSED_TABLE_STILL_COUNTED
        PARENT_LEFT_OUT
        STRAIGHT_TO_THE_BASE
        BASE_LEFT_OUT
        BASE_OF_THE_BATCH
        SHARE_WITHOUT_DISCOUNT
        NEW_TABLE_WITHOUT_PARENT
        NEW_TABLE_WITHOUT_DISCOUNT
        COIN_REVERSED
        JOIN_WITHOUT_DISCOUNT
        JOIN_BY_SIZE_ALONE
        TABLE_THAT_WAS_LEFT_OUT
        TABLE_THAT_WAS_LEFT_TWICE
        TABLE_THAT_WAS_LEFT_FULL
        LAST_TABLE_LEFT_OUT
        SHIFTED_CHOICE
        LONE_TABLE_FOR_LONE_CUSTOMER
        CLOSING_NOT_PASSED_UP
        OPENING_NOT_PASSED_UP
        TABLES_NOT_COUNTED
        LARGEST_CLOSES
        STALE_SIZES
        LAST_OF_BATCH_LEFT_OUT
    const char *hdpkit_observed_fault_names[]
