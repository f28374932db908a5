#define HDPKIT_ISA "avx512"
#define HDPKIT_ISA_INIT PyInit_isa_avx512
#include "topic_module.h"
