// Recorded inputs of a NIC through a fresh model: a digest of all outputs of all slots.
#pragma once
#include "nic.h"

class OutputDigest {
  public:
    uint64_t value = 0xCBF29CE484222325ull;

    void add(const NicOutputs& m) {
        mix(uint64_t(m.tx_kind) | uint64_t(m.rx_stop) << 8 | uint64_t(m.irq) << 9 | uint64_t(m.idle) << 10 |
            uint64_t(m.wake_armed) << 11 | uint64_t(m.pio_ready) << 12 | uint64_t(m.pio_rvalid) << 13 |
            uint64_t(m.mem_valid) << 14 | uint64_t(m.mem_write) << 15 | uint64_t(m.mem_be) << 16 |
            uint64_t(m.mem_burst) << 32);
        mix(uint64_t(m.tx_data) << 32 | m.pio_rdata);
        mix(uint64_t(m.mem_addr) << 32 | m.mem_wdata);
        mix(m.wake_cycle);
    }

  private:
    void mix(uint64_t word) {
        value = (value ^ word) * 0x9E3779B97F4A7C15ull;
        value ^= value >> 29;
    }
};

inline uint64_t replayed(const NicInputs* inputs, uint64_t slots, const GatesTable& table, bool whole,
                         uint64_t& outside) {
    NicGates gates(table);
    gates.whole(whole);
    OutputDigest digest;
    uint64_t still = 0;  // the slots before it have no inputs
    for (uint64_t slot = 0; slot < slots;) {
        while (still < slots && is_still(inputs[still])) still++;
        uint32_t begun = 1;
        if (slot < still) begun = gates.begin_still(still - slot);
        else gates.begin(inputs[still++]);
        slot += begun;
        while (begun--) digest.add(gates.outputs());
    }
    outside = gates.outside();
    return digest.value;
}
