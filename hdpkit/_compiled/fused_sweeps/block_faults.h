/* Bugs that tests plant in the fused verbs of blocks; only scripted verbs can have them, at no cost to production.
   Beside each stands the check that catches it, and what it is: tests/bugs/fused.py reads them here. */
#ifndef HDPKIT_BLOCK_FAULTS_H
#define HDPKIT_BLOCK_FAULTS_H

#define HDPKIT_BLOCK_FAULTS(FAULT) \
    /* what is out while a dish is drawn */ \
    FAULT(BLOCK_NOT_REMOVED) /* check_dish_gibbs: Its values count in its dish while that is drawn. */ \
    FAULT(BLOCK_STILL_IN_TOTAL) /* check_dish_gibbs: They are taken out of the dish's counts, but not of their sum. */ \
    FAULT(TABLE_NOT_REMOVED) /* check_dish_gibbs: It counts at the root while its dish is drawn: m_k for m_k - 1. */ \
    /* the prior of the dishes */ \
    FAULT(DISCOUNT_IGNORED) /* check_dish_gibbs: A dish weighs m_k for m_k - d0, a side its size. */ \
    FAULT(TOKENS_FOR_TABLES) /* check_dish_gibbs: The root counts the customers of a dish for its tables. */ \
    FAULT(GAMMA_LEFT_OUT) /* check_dish_gibbs: A new dish has 1 + d0 K for theta_0 + d0 K. */ \
    FAULT(FRESH_WITHOUT_DISCOUNT) /* check_dish_gibbs: A new dish has theta_0 for theta_0 + d0 K. */ \
    FAULT(FRESH_LEFT_OUT) /* check_dish_gibbs: No table gets a new dish. */ \
    /* weights of the root */ \
    FAULT(TABLES_FOR_WEIGHTS) /* check_dish_gibbs_under_weights: m_k - d0 for the weight of the dish. */ \
    FAULT(CONCENTRATION_FOR_REMAINDER) /* check_dish_gibbs_under_weights: A new dish has theta_0 for the remainder. */ \
    FAULT(REMAINDER_OF_BEFORE) /* check_dish_gibbs_under_weights: The weight of a dish that died is not brought home. */ \
    /* the likelihood of a block */ \
    FAULT(VALUES_AS_INDEPENDENT) /* check_dish_gibbs: A term that comes again is scored as if it came first. */ \
    FAULT(TERM_COUNTED_TWICE) /* check_dish_gibbs: The first value's factor stands twice in the product. */ \
    FAULT(SMOOTHING_LEFT_OUT) /* check_dish_gibbs: n_kv for n_kv + eta_v. */ \
    FAULT(SYMMETRIC_ETA) /* check_dish_gibbs: Every term has the eta of the first. */ \
    FAULT(ETA_SUM_LEFT_OUT) /* check_dish_gibbs: n_k + eta for n_k + V eta: V is forgotten. */ \
    FAULT(TOTALS_AS_POWER) /* check_dish_gibbs: (n_k + sum eta)**c for the rising product. */ \
    FAULT(MIDDLE_LEFT_OUT) /* check_dish_gibbs: Blocks of odd length lack a factor below. */ \
    FAULT(FRESH_BY_COUNT) /* check_dish_gibbs: A new dish has 1 / V for eta_v / sum eta. */ \
    FAULT(EXPONENTS_DROPPED) /* check_dish_gibbs: Mantissas are compared without their powers of two. */ \
    FAULT(FIRST_FACTORS_ALONE) /* check_agreement: Of a long block only the first values count. */ \
    /* sums */ \
    FAULT(LAST_DISH_LEFT_OUT) /* check_dish_gibbs: The last dish can't be drawn: a truncated sum. */ \
    FAULT(SHIFTED_DISH) /* check_dish_gibbs: The dish after the one that was drawn. */ \
    /* what a move leaves behind */ \
    FAULT(COUNTS_LEFT_BEHIND) /* check_dish_gibbs: The block's counts stay with the dish that it leaves. */ \
    FAULT(TOTAL_LEFT_BEHIND) /* check_dish_gibbs: Their sum does. */ \
    FAULT(TABLE_NOT_SERVED) /* check_dish_gibbs: The table sits at another dish of the root, and serves the old one. */ \
    FAULT(EMPTY_DISH_KEPT) /* check_dish_gibbs: A dish that lost its last table stays, owned by nobody. */ \
    FAULT(TWO_NEW_DISHES) /* check_dish_gibbs: A birth is announced twice; the first dish stays without customers. */ \
    FAULT(STALE_DISH) /* check_sweeps_of_dish_gibbs: The next table finds the sums of the dish that was left as they were. */ \
    FAULT(STALE_NEW_DISH) /* check_sweeps_of_dish_gibbs: The same of the dish that was joined. */ \
    FAULT(STALE_BLOCK) /* check_sweeps_of_dish_gibbs: The next table is weighed by the values of this one. */ \
    FAULT(TABLE_STILL_COUNTED) /* check_sweeps_of_dish_gibbs: m_k of the dish that was left stays as it was. */ \
    FAULT(TABLE_NOT_COUNTED) /* check_sweeps_of_dish_gibbs: m_k of the dish that was joined stays as it was. */ \
    FAULT(BOUNDS_KEPT) /* check_bounds_after_moves: Counts change, and the sweep of single customers isn't told: its bounds are those of before. */ \
    /* units that are remembered */ \
    FAULT(STALE_UNITS) /* check_units: Units stay as they were found, whoever sits elsewhere by now. */ \
    FAULT(CUSTOMERS_OF_THE_ROOT_FORGOTTEN) /* check_units: Units that were found without the customers of the root serve where they are asked for. */ \
    /* split-merge */ \
    FAULT(SIZES_IGNORED) /* check_agreement: Sides are weighed by their values alone (and q is right). */ \
    FAULT(SIDE_NOT_COUNTED) /* check_agreement: A side doesn't grow by what joins it. */ \
    FAULT(SIDE_STILL_COUNTED) /* check_agreement: A side counts the unit that is scanned. */ \
    FAULT(FORCED_SIDE_IGNORED) /* check_split_merge: The way back of a merge is drawn, not forced. */ \
    FAULT(OTHER_SIDE) /* check_split_merge: q of the side that was not taken. */ \
    FAULT(Q_NOT_NORMALISED) /* check_split_merge: q of the weight, not of its share. */ \
    FAULT(Q_OF_THE_LAST_UNIT) /* check_split_merge: q of the last unit alone. */ \
    FAULT(Q_WITHOUT_EXPONENTS) /* check_split_merge: q of the mantissas. */

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
