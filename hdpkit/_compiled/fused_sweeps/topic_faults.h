/* Bugs that tests plant in the fused sweep of topic models; only scripted sweeps can have them, at no cost to
   production. The comment at each names the check that detects it and describes it; tests/bugs/fused.py reads these
   comments. */
#ifndef HDPKIT_TOPIC_FAULTS_H
#define HDPKIT_TOPIC_FAULTS_H

#define HDPKIT_TOPIC_FAULTS(FAULT) \
    /* parts of the conditional */ \
    FAULT(NEW_TABLE_WITHOUT_DISHES) /* check_steps: A new table always gets a new dish: 2.76 expected tables instead of 3.349 in one sampler. */ \
    FAULT(GAMMA_LEFT_OUT) /* check_steps: A new dish has 1 + d0 K instead of theta_0 + d0 K. */ \
    FAULT(ETA_SUM_LEFT_OUT) /* check_steps: A new dish has eta_v instead of eta_v / sum eta. */ \
    FAULT(FRESH_BY_COUNT) /* check_steps: A new dish has 1 / V instead of eta_v / sum eta. */ \
    FAULT(SYMMETRIC_ETA) /* check_steps: Every term has the eta of the first term. */ \
    FAULT(TERM_PART_DROPPED) /* check_steps: The dish of a new table is drawn without its counts of the term. */ \
    FAULT(SMOOTH_PART_DROPPED) /* check_steps: The dish of a new table is always one that has the term. */ \
    FAULT(FRESH_PART_DROPPED) /* check_steps: A new dish has almost no weight. */ \
    /* discounts and concentrations */ \
    FAULT(DISCOUNT_IGNORED) /* check_steps: A dish of the document has weight n_jk instead of n_jk - d t_jk. */ \
    FAULT(DISCOUNT_ONCE) /* check_steps: A dish of the document has weight n_jk - d instead of n_jk - d t_jk. */ \
    FAULT(NEW_TABLE_DISCOUNT_IGNORED) /* check_steps: A new table has theta instead of theta + d T. */ \
    FAULT(NEW_TABLE_DISCOUNT_ONCE) /* check_steps: A new table has theta + d instead of theta + d T. */ \
    FAULT(ROOT_DISCOUNT_IGNORED) /* check_steps: A new table of dish k has m_k instead of m_k - d0. */ \
    FAULT(NEW_DISH_DISCOUNT_IGNORED) /* check_steps: A new dish has theta_0 instead of theta_0 + d0 K. */ \
    FAULT(TOKENS_FOR_TABLES) /* check_steps: The root counts the customers of a dish instead of its tables. */ \
    FAULT(LONE_CUSTOMER_PASSED_THROUGH) /* check_steps: A restaurant with one customer is treated as empty. */ \
    FAULT(EMPTY_RESTAURANT_NOT_PASSED_THROUGH) /* check_concentrations_below_zero: theta + d T is used with T = 0: nothing can be drawn if theta = 0. */ \
    FAULT(JOINED_WITHOUT_DISCOUNT) /* check_steps: A table among several has its size as its weight. */ \
    /* removals while a dish is drawn */ \
    FAULT(CUSTOMER_NOT_REMOVED) /* check_steps: The customer's term is counted in its dish while a dish is drawn. */ \
    FAULT(TOTAL_NOT_REMOVED) /* check_steps: The term is removed from its dish's counts, but not from their sum. */ \
    FAULT(STALE_TOTAL) /* check_steps: The dish that a customer left has the old sum: n_k instead of n_k - 1. */ \
    FAULT(STALE_OPEN) /* check_steps: (theta + d T) / (theta_0 + m) has the value from before the table closed. */ \
    FAULT(CLOSED_TABLE_STILL_COUNTED) /* check_steps: m_k includes a closed table while a dish is drawn. */ \
    FAULT(EMPTY_DISH_KEPT) /* check_steps: A dish that lost its last customer is not closed. */ \
    FAULT(TWO_NEW_DISHES) /* check_steps: A birth is reported twice; the first dish remains without customers. */ \
    /* the state for the next customer */ \
    FAULT(TOTAL_OF_THE_OLD_DISH) /* check_neighbours: The sum of the old dish grows instead of that of the new dish. */ \
    FAULT(STALE_TOTAL_OF_THE_NEW_DISH) /* check_neighbours: A dish that gained a customer has weights with the old sum. */ \
    FAULT(STALE_SHARE) /* check_neighbours: n_jk - d t_jk of a dish that was joined is not updated. */ \
    FAULT(STALE_PLACE) /* check_neighbours: Entries are looked up at their places from before an insertion. */ \
    FAULT(STALE_OPEN_OF_THE_LAST_RESTAURANT) /* check_neighbours: A document opens tables with the odds of the previous document. */ \
    FAULT(OPENED_TABLE_NOT_COUNTED) /* check_neighbours: m_k doesn't include a table that opened. */ \
    /* weights of the root */ \
    FAULT(TABLES_FOR_WEIGHTS) /* check_weights: A new table of dish k has m_k / (theta_0 + m) instead of beta_k. */ \
    FAULT(REMAINDER_OF_BEFORE) /* check_weights: A new dish has the remainder from before the last birth or death. */ \
    /* sparse measures */ \
    FAULT(FACTORS_OF_BEFORE) /* check_sparse_steps: The dish that a customer left has its old factors. */ \
    FAULT(RATIO_OF_ANOTHER_DISH) /* check_sparse_steps: Terms that a dish doesn't have get the ratio of another dish. */ \
    FAULT(LAST_OF_A_TERM_KEPT) /* check_sparse_steps: The own dish of the only customer with a term has n_k - 1, but a_k. */ \
    FAULT(DISTINCT_NOT_LOWERED) /* check_sparse_steps: The same for new tables of that dish. */ \
    FAULT(DISTINCT_NOT_RAISED) /* check_sparse_neighbours: A dish that got a new term has the old a_k. */ \
    FAULT(SMOOTHING_OF_UNSEEN_TERMS) /* check_sparse_steps: Terms that a dish doesn't have get weight lambda, as if they were selected. */ \
    FAULT(UNSEEN_PART_TWICE) /* check_sparse_steps: Terms with counts get n_kv + lambda plus the weight of a term without counts. */ \
    FAULT(FRESH_BY_VOCABULARY) /* check_sparse_steps: A new dish has 1 / V for each term, as if some terms were always selected. */ \
    /* sums */ \
    FAULT(LAST_DISH_LEFT_OUT) /* check_steps: The last dish can't get a new table: a truncated sum. */ \
    FAULT(LAST_BLOCK_LEFT_OUT) /* check_sites: The last sixteen slots can't get a new table. */ \
    FAULT(NEW_BLOCK_UNSEEN) /* check_sites: A dish born beyond the blocks in use is missing from the sums. */ \
    FAULT(SHIFTED_CHOICE) /* check_steps: The place after the drawn one is taken. */

enum hdpkit_topic_fault {
    HDPKIT_NO_FAULT,
#define HDPKIT_FAULT(name) name,
    HDPKIT_TOPIC_FAULTS(HDPKIT_FAULT)
#undef HDPKIT_FAULT
    HDPKIT_FAULTS_END,
};

static const char *const hdpkit_topic_fault_names[] = {
    "",
#define HDPKIT_FAULT(name) #name,
    HDPKIT_TOPIC_FAULTS(HDPKIT_FAULT)
#undef HDPKIT_FAULT
};

#endif
