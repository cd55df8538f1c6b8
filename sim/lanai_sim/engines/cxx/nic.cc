// The NIC of one model.
#include "nic_unit.h"
#include "replay.h"

Nic* new_nic(uint32_t number, uint64_t slot_khz) { return new NicUnit(number, slot_khz); }
uint64_t replay(const NicInputs* inputs, uint64_t slots) { return replayed(inputs, slots); }
