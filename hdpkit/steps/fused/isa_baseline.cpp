#define HDPKIT_SCRIPTS
#define HDPKIT_ISA "baseline"
#define HDPKIT_ISA_INIT PyInit_isa_baseline
#include "topic_module.h"
