// The switch of one model.
#include "switch_unit.h"

Switch* new_switch() { return new SwitchUnit; }
