// The slots that may be left out before a NIC's timer is near.
#pragma once
#include "declared.h"

inline uint32_t slots_until_timer(const NicOutputs& outputs, uint64_t now) {
    constexpr uint32_t FAR = 1u << 30;
    if (!outputs.wake_armed) return FAR;
    const int32_t cycles = int32_t(outputs.wake_cycle - uint32_t(now >> 1)) - 4;
    return cycles <= 0 ? 0 : cycles > int32_t(FAR / 2) ? FAR : uint32_t(cycles) * 2;
}
