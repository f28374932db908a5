/* Bugs that tests plant in the fused sweep of topic models; only scripted sweeps can have them, at no cost to
   production. Beside each stands the check that catches it, and what it is: tests/bugs/fused.py reads them here. */
#ifndef HDPKIT_TOPIC_FAULTS_H
#define HDPKIT_TOPIC_FAULTS_H

#define HDPKIT_TOPIC_FAULTS(FAULT) \
    /* parts of the conditional */ \
    FAULT(NEW_TABLE_WITHOUT_DISHES) /* check_steps: A new table can bring a new dish alone: 2.76 expected tables for 3.349 in one sampler. */ \
    FAULT(GAMMA_LEFT_OUT) /* check_steps: A new dish has 1 + d0 K for theta_0 + d0 K. */ \
    FAULT(ETA_SUM_LEFT_OUT) /* check_steps: A new dish has eta_v for eta_v / sum eta: V is forgotten. */ \
    FAULT(FRESH_BY_COUNT) /* check_steps: A new dish has 1 / V for eta_v / sum eta. */ \
    FAULT(SYMMETRIC_ETA) /* check_steps: Every term has the eta of the first. */ \
    FAULT(TERM_PART_DROPPED) /* check_steps: A new table's dishes are weighed without their counts of the term. */ \
    FAULT(SMOOTH_PART_DROPPED) /* check_steps: A new table brings only dishes that have the term. */ \
    FAULT(FRESH_PART_DROPPED) /* check_steps: A new dish has next to no weight. */ \
    /* discounts and concentrations */ \
    FAULT(DISCOUNT_IGNORED) /* check_steps: To share a dish weighs n_jk for n_jk - d t_jk. */ \
    FAULT(DISCOUNT_ONCE) /* check_steps: To share a dish weighs n_jk - d for n_jk - d t_jk. */ \
    FAULT(NEW_TABLE_DISCOUNT_IGNORED) /* check_steps: A new table has theta for theta + d T. */ \
    FAULT(NEW_TABLE_DISCOUNT_ONCE) /* check_steps: A new table has theta + d for theta + d T. */ \
    FAULT(ROOT_DISCOUNT_IGNORED) /* check_steps: A new table of dish k has m_k for m_k - d0. */ \
    FAULT(NEW_DISH_DISCOUNT_IGNORED) /* check_steps: A new dish has theta_0 for theta_0 + d0 K. */ \
    FAULT(TOKENS_FOR_TABLES) /* check_steps: The root counts the customers of a dish for its tables. */ \
    FAULT(LONE_CUSTOMER_PASSED_THROUGH) /* check_steps: A restaurant with one customer counts as empty. */ \
    FAULT(EMPTY_RESTAURANT_NOT_PASSED_THROUGH) /* check_concentrations_below_zero: theta + d T is evaluated at T = 0: nothing can be drawn where theta = 0. */ \
    FAULT(JOINED_WITHOUT_DISCOUNT) /* check_steps: A table among several is joined with its size as its weight. */ \
    /* what is out while it is drawn */ \
    FAULT(CUSTOMER_NOT_REMOVED) /* check_steps: The term counts in its dish while a dish is drawn. */ \
    FAULT(TOTAL_NOT_REMOVED) /* check_steps: The term is taken out of its dish's counts, but not of their sum. */ \
    FAULT(STALE_TOTAL) /* check_steps: The dish that a customer left is weighed with the sum of before: n_k for n_k - 1. */ \
    FAULT(STALE_OPEN) /* check_steps: (theta + d T) / (theta_0 + m) as it was before the table closed. */ \
    FAULT(CLOSED_TABLE_STILL_COUNTED) /* check_steps: m_k counts a table that has closed while a dish is drawn. */ \
    FAULT(EMPTY_DISH_KEPT) /* check_steps: A dish that lost its last customer stays, owned by nobody. */ \
    FAULT(TWO_NEW_DISHES) /* check_steps: A birth is announced twice; the first dish stays without customers. */ \
    /* what the next customer finds */ \
    FAULT(TOTAL_OF_THE_OLD_DISH) /* check_neighbours: The sum of the dish that was left grows, not that of the new one. */ \
    FAULT(STALE_TOTAL_OF_THE_NEW_DISH) /* check_neighbours: A dish that grew is weighed with the sum of before. */ \
    FAULT(STALE_SHARE) /* check_neighbours: n_jk - d t_jk of a dish that was shared stays as it was. */ \
    FAULT(STALE_PLACE) /* check_neighbours: Entries are looked up where they were before one was put among them. */ \
    FAULT(STALE_OPEN_OF_THE_LAST_RESTAURANT) /* check_neighbours: The next document opens tables with the odds of the one before. */ \
    FAULT(OPENED_TABLE_NOT_COUNTED) /* check_neighbours: m_k doesn't count a table that opened. */ \
    /* weights of the root */ \
    FAULT(TABLES_FOR_WEIGHTS) /* check_weights: A new table of dish k has m_k / (theta_0 + m) for beta_k. */ \
    FAULT(REMAINDER_OF_BEFORE) /* check_weights: A new dish has the remainder as it was before the last birth or death. */ \
    /* sparse measures */ \
    FAULT(FACTORS_OF_BEFORE) /* check_sparse_steps: The dish that a customer left keeps the factors that it had. */ \
    FAULT(RATIO_OF_ANOTHER_DISH) /* check_sparse_steps: Terms that a dish doesn't have weigh what another dish says. */ \
    FAULT(LAST_OF_A_TERM_KEPT) /* check_sparse_steps: The own dish of the only customer with a term has n_k - 1, but a_k. */ \
    FAULT(DISTINCT_NOT_LOWERED) /* check_sparse_steps: The same for new tables of that dish. */ \
    FAULT(DISTINCT_NOT_RAISED) /* check_sparse_neighbours: A dish that got a term for the first time has a_k as before. */ \
    FAULT(SMOOTHING_OF_UNSEEN_TERMS) /* check_sparse_steps: Terms that a dish doesn't have weigh lambda, as if they were selected. */ \
    FAULT(UNSEEN_PART_TWICE) /* check_sparse_steps: n_kv + lambda on top of what terms without counts have. */ \
    FAULT(FRESH_BY_VOCABULARY) /* check_sparse_steps: A new dish has 1 / V for each term, as if it had always selected some. */ \
    /* sums */ \
    FAULT(LAST_DISH_LEFT_OUT) /* check_steps: The last dish can't get a new table: a truncated sum. */ \
    FAULT(LAST_BLOCK_LEFT_OUT) /* check_sites: The last sixteen slots can't get a new table. */ \
    FAULT(NEW_BLOCK_UNSEEN) /* check_sites: A dish born beyond the blocks in use stays out of the sums. */ \
    FAULT(SHIFTED_CHOICE) /* check_steps: The place after the one that was drawn. */

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
