// The switch of one model.
#include "switch_unit.h"

Switch* new_switch(const uint32_t* numbers) { return new SwitchUnit(numbers); }
