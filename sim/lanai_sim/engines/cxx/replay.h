// Recorded inputs of a NIC through a fresh model: a digest of all outputs of all slots.
#pragma once
#include "nic.h"

class OutputDigest {
  public:
    uint64_t value = 0xCBF29CE484222325ull;

    void add(const NicModel& m) {
        mix(uint64_t(m.PORT(link_tx, kind)) | uint64_t(m.PORT(link_rx, stop)) << 8 | uint64_t(m.irq) << 9 |
            uint64_t(m.idle) << 10 | uint64_t(m.wake_armed) << 11 | uint64_t(m.PORT(pio, ready)) << 12 |
            uint64_t(m.PORT(pio, rvalid)) << 13 | uint64_t(m.PORT(mem, valid)) << 14 |
            uint64_t(m.PORT(mem, write)) << 15 | uint64_t(m.PORT(mem, be)) << 16 | uint64_t(m.PORT(mem, burst)) << 32);
        mix(uint64_t(m.PORT(link_tx, data)) << 32 | m.PORT(pio, rdata));
        mix(uint64_t(m.PORT(mem, addr)) << 32 | m.PORT(mem, wdata));
        mix(m.wake_cycle);
    }

  private:
    void mix(uint64_t word) {
        value = (value ^ word) * 0x9E3779B97F4A7C15ull;
        value ^= value >> 29;
    }
};

inline uint64_t replayed(const NicInputs* inputs, uint64_t slots, const uint32_t* numbers, bool whole,
                         uint64_t& outside) {
    NicGates gates(numbers);
    gates.whole(whole);
    OutputDigest digest;
    uint64_t still = 0;  // the slots before it have no inputs
    for (uint64_t slot = 0; slot < slots;) {
        while (still < slots && is_still(inputs[still])) still++;
        uint32_t begun = 1;
        if (slot < still) begun = gates.begin_still(still - slot);
        else gates.begin(inputs[still++]);
        slot += begun;
        while (begun--) digest.add(gates.model());
    }
    outside = gates.outside();
    return digest.value;
}
