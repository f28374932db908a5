#define HDPKIT_ISA "avx2"
#define HDPKIT_ISA_INIT PyInit_isa_avx2
#include "topic_module.h"
