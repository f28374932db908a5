/* Bugs that tests plant in the fused verbs of blocks; only scripted verbs can have them, at no cost to production. The
   comment at each names the check that detects it and describes it; tests/bugs/fused.py reads these comments. */
#ifndef HDPKIT_BLOCK_FAULTS_H
#define HDPKIT_BLOCK_FAULTS_H

#define HDPKIT_BLOCK_FAULTS(FAULT) \
    /* removals while a dish is drawn */ \
    FAULT(BLOCK_NOT_REMOVED) /* check_dish_gibbs: The block's values are counted in its dish while the dish is drawn. */ \
    FAULT(BLOCK_STILL_IN_TOTAL) /* check_dish_gibbs: They are removed from the dish's counts, but not from their sum. */ \
    FAULT(TABLE_NOT_REMOVED) /* check_dish_gibbs: The table is counted at the root while its dish is drawn: m_k instead of m_k - 1. */ \
    /* the prior of the dishes */ \
    FAULT(DISCOUNT_IGNORED) /* check_dish_gibbs: A dish has weight m_k instead of m_k - d0, a side its size. */ \
    FAULT(TOKENS_FOR_TABLES) /* check_dish_gibbs: The root counts the customers of a dish instead of its tables. */ \
    FAULT(GAMMA_LEFT_OUT) /* check_dish_gibbs: A new dish has 1 + d0 K instead of theta_0 + d0 K. */ \
    FAULT(FRESH_WITHOUT_DISCOUNT) /* check_dish_gibbs: A new dish has theta_0 instead of theta_0 + d0 K. */ \
    FAULT(FRESH_LEFT_OUT) /* check_dish_gibbs: No table gets a new dish. */ \
    /* weights of the root */ \
    FAULT(TABLES_FOR_WEIGHTS) /* check_dish_gibbs_under_weights: m_k - d0 is used instead of the weight of the dish. */ \
    FAULT(CONCENTRATION_FOR_REMAINDER) /* check_dish_gibbs_under_weights: A new dish has theta_0 instead of the remainder. */ \
    FAULT(REMAINDER_OF_BEFORE) /* check_dish_gibbs_under_weights: The weight of a dish that died is not added to the remainder. */ \
    /* the likelihood of a block */ \
    FAULT(VALUES_AS_INDEPENDENT) /* check_dish_gibbs: A repeated term is scored as if it occurred for the first time. */ \
    FAULT(TERM_COUNTED_TWICE) /* check_dish_gibbs: The first value's factor is included twice in the product. */ \
    FAULT(SMOOTHING_LEFT_OUT) /* check_dish_gibbs: n_kv instead of n_kv + eta_v. */ \
    FAULT(SYMMETRIC_ETA) /* check_dish_gibbs: Every term has the eta of the first term. */ \
    FAULT(ETA_SUM_LEFT_OUT) /* check_dish_gibbs: n_k + eta instead of n_k + V eta. */ \
    FAULT(TOTALS_AS_POWER) /* check_dish_gibbs: (n_k + sum eta)**c instead of the rising product. */ \
    FAULT(MIDDLE_LEFT_OUT) /* check_dish_gibbs: For blocks of odd length a factor of the denominator is missing. */ \
    FAULT(FRESH_BY_COUNT) /* check_dish_gibbs: A new dish has 1 / V instead of eta_v / sum eta. */ \
    FAULT(EXPONENTS_DROPPED) /* check_dish_gibbs: Mantissas are compared without their exponents. */ \
    FAULT(FIRST_FACTORS_ALONE) /* check_agreement: Only the first values of a long block are used. */ \
    /* sums */ \
    FAULT(LAST_DISH_LEFT_OUT) /* check_dish_gibbs: The last dish can't be drawn: a truncated sum. */ \
    FAULT(SHIFTED_DISH) /* check_dish_gibbs: The dish after the drawn one is taken. */ \
    /* the state after a move */ \
    FAULT(COUNTS_LEFT_BEHIND) /* check_dish_gibbs: The block's counts remain in its old dish. */ \
    FAULT(TOTAL_LEFT_BEHIND) /* check_dish_gibbs: Their sum remains in it. */ \
    FAULT(TABLE_NOT_SERVED) /* check_dish_gibbs: The table is seated at another dish of the root, but serves the old one. */ \
    FAULT(EMPTY_DISH_KEPT) /* check_dish_gibbs: A dish that lost its last table is not closed. */ \
    FAULT(TWO_NEW_DISHES) /* check_dish_gibbs: A birth is reported twice; the first dish remains without customers. */ \
    FAULT(STALE_DISH) /* check_sweeps_of_dish_gibbs: For the next table the sums of the old dish are not updated. */ \
    FAULT(STALE_NEW_DISH) /* check_sweeps_of_dish_gibbs: For the next table the sums of the new dish are not updated. */ \
    FAULT(STALE_BLOCK) /* check_sweeps_of_dish_gibbs: The next table's weights use the values of this one. */ \
    FAULT(TABLE_STILL_COUNTED) /* check_sweeps_of_dish_gibbs: m_k of the old dish is not updated. */ \
    FAULT(TABLE_NOT_COUNTED) /* check_sweeps_of_dish_gibbs: m_k of the new dish is not updated. */ \
    FAULT(BOUNDS_KEPT) /* check_bounds_after_moves: Counts change, but the sweep of single customers keeps its old bounds. */ \
    /* cached units */ \
    FAULT(STALE_UNITS) /* check_units: Units are not updated after customers have moved. */ \
    FAULT(CUSTOMERS_OF_THE_ROOT_FORGOTTEN) /* check_units: Units found without the customers of the root are used where these are required. */ \
    /* split-merge */ \
    FAULT(SIZES_IGNORED) /* check_agreement: Weights of sides depend only on their values (and q is right). */ \
    FAULT(SIDE_NOT_COUNTED) /* check_agreement: The size of a side doesn't increase when a unit joins it. */ \
    FAULT(SIDE_STILL_COUNTED) /* check_agreement: The size of a side includes the unit that is scanned. */ \
    FAULT(FORCED_SIDE_IGNORED) /* check_split_merge: The reverse of a merge is drawn instead of forced. */ \
    FAULT(OTHER_SIDE) /* check_split_merge: q is that of the side that was not taken. */ \
    FAULT(Q_NOT_NORMALISED) /* check_split_merge: q is the weight instead of its share. */ \
    FAULT(Q_OF_THE_LAST_UNIT) /* check_split_merge: q is that of the last unit only. */ \
    FAULT(Q_WITHOUT_EXPONENTS) /* check_split_merge: q uses only the mantissas. */

struct hdpkit_block_faults {
    enum fault {
        NO_FAULT,
#define HDPKIT_FAULT(name) name,
        HDPKIT_BLOCK_FAULTS(HDPKIT_FAULT)
#undef HDPKIT_FAULT
        END,
    };
};

static const char *const hdpkit_block_fault_names[] = {
    "",
#define HDPKIT_FAULT(name) #name,
    HDPKIT_BLOCK_FAULTS(HDPKIT_FAULT)
#undef HDPKIT_FAULT
};

#endif
