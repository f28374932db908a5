/* Bugs that tests plant in scripted sweeps over documents; 0 is none. */
#ifndef HDPKIT_SLICE_FAULTS_H
#define HDPKIT_SLICE_FAULTS_H

#define HDPKIT_SLICE_FAULTS(F) \
    F(NO_SLICE_FAULT) F(XI_LEFT_OUT) F(SLICE_IGNORED) F(SLICE_OF_THE_NEW_DISH) F(OWN_CUSTOMER_COUNTED) \
    F(WEIGHT_LEFT_OUT) F(TERM_OF_THE_CUSTOMER_BEFORE) F(COUNTS_OF_THE_DOCUMENT_BEFORE) F(STALE_COUNTS)

#define HDPKIT_SLICE_FAULT_NAME(name) name,
enum { HDPKIT_SLICE_FAULTS(HDPKIT_SLICE_FAULT_NAME) HDPKIT_SLICE_FAULTS_END };
#undef HDPKIT_SLICE_FAULT_NAME
#define HDPKIT_SLICE_FAULT_NAME(name) #name,
inline const char *hdpkit_slice_faults_of(int fault) {
    static const char *const names[] = {HDPKIT_SLICE_FAULTS(HDPKIT_SLICE_FAULT_NAME)};
    return names[fault];
}
#undef HDPKIT_SLICE_FAULT_NAME

#endif
