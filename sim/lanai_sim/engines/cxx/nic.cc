// The NIC of one model.
#include "nic_unit.h"
#include "replay.h"

Nic* new_nic(uint32_t number, uint64_t slot_khz, const uint32_t* numbers) {
    return new NicUnit(number, slot_khz, numbers);
}
uint64_t replay(const NicInputs* inputs, uint64_t slots, const uint32_t* numbers, bool whole, uint64_t* outside) {
    return replayed(inputs, slots, numbers, whole, *outside);
}
