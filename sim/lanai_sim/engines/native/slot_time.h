// Between picoseconds and slots: `base.SlotTime`.
#pragma once
#include <stdint.h>

struct SlotTime {
    uint64_t khz;

    uint64_t picoseconds(uint64_t slot) const { return uint64_t((unsigned __int128)slot * PER_KHZ / khz); }
    // The first slot that begins at this time or later.
    uint64_t slot(uint64_t picoseconds) const {
        return uint64_t(((unsigned __int128)picoseconds * khz + PER_KHZ - 1) / PER_KHZ);
    }

  private:
    static constexpr uint64_t PER_KHZ = 1000000000;
};
